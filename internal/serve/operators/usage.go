package operators

import (
	"context"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"interlock/internal/usage"
)

func (d *Door) mountUsage(api huma.API) {
	add(d, api, op("GET "+PathUsage, "query-usage", "Add up tokens and money"), d.queryUsage)
	add(d, api, op("GET "+PathPrices, "list-prices", "List the price table"), d.listPrices)
	add(d, api, op("PUT "+PathPrices, "set-price", "Set the price of a provider's model"), d.setPrice)
	add(d, api, op("DELETE "+PathPrices, "delete-price", "Remove a price"), d.deletePrice)
	add(d, api, op("GET "+PathStop, "get-stop", "Show the switch that stops all decides"), d.getStop)
	add(d, api, op("PUT "+PathStop, "set-stop", "Stop all decides, or allow them again"), d.setStop)
}

type usageInput struct {
	Tenant string   `query:"tenant" maxLength:"64" doc:"left out: that of the API token"`
	Group  []string `query:"group,explode" maxItems:"4" enum:"day,host,task,model"`
	From   string   `query:"from" format:"date" doc:"first day, UTC"`
	To     string   `query:"to" format:"date" doc:"the day after the last, UTC"`
	HostID string   `query:"host_id" maxLength:"64"`
	TaskID string   `query:"task_id" maxLength:"64"`
	Limit  int      `query:"limit" default:"1000" minimum:"1" maximum:"10000"`
}

func (d *Door) queryUsage(ctx context.Context, o operator, in *usageInput) (*reply[UsageReport], error) {
	t, err := d.reach(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	q := usage.Query{Tenant: t, From: day(in.From), To: day(in.To), Host: in.HostID, Task: in.TaskID, Limit: in.Limit}
	for _, g := range in.Group {
		q.Groups = append(q.Groups, usage.Group(g))
	}
	rows, err := d.Usage.Usage(ctx, q)
	if err != nil {
		return nil, err
	}
	costs, err := d.costs(ctx, q, rows)
	if err != nil {
		return nil, err
	}
	report := UsageReport{Rows: []UsageRow{}}
	for _, r := range rows {
		report.Rows = append(report.Rows, UsageRow{r, costs[groupOf(r)]})
	}
	return answer(report, nil)
}

// day reads a date that the schema has checked; "" is no bound.
func day(s string) time.Time {
	t, _ := time.Parse(time.DateOnly, s)
	return t
}

// group is what tells the rows of one report apart.
type group struct{ day, host, task, provider, model string }

func groupOf(r usage.Rollup) group { return group{r.Day, r.Host, r.Task, r.Provider, r.Model} }

// costs prices the rows of q. A row that does not name its model is the sum of
// several, which have prices of their own: they are asked for.
func (d *Door) costs(ctx context.Context, q usage.Query, rows []usage.Rollup) (map[group][]Cost, error) {
	prices, err := d.Usage.Prices(ctx, q.Tenant)
	if err != nil || len(prices) == 0 {
		return nil, err
	}
	byModel := slices.Contains(q.Groups, usage.ByModel)
	priced := rows
	if !byModel {
		q.Groups, q.Limit = append(slices.Clone(q.Groups), usage.ByModel), usage.MaxRows
		if priced, err = d.Usage.Usage(ctx, q); err != nil {
			return nil, err
		}
	}
	parts := map[group][]usage.Rollup{}
	for _, r := range priced {
		g := groupOf(r)
		if !byModel {
			g.provider, g.model = "", ""
		}
		parts[g] = append(parts[g], r)
	}
	cut := !byModel && len(priced) == usage.MaxRows
	out := map[group][]Cost{}
	for g, part := range parts {
		for _, c := range usage.Costs(part, prices) {
			out[g] = append(out[g], Cost{Currency: c.Currency, Micro: c.Micro, AtLeast: c.AtLeast || cut, Rough: c.Rough})
		}
	}
	return out, nil
}

func (d *Door) listPrices(ctx context.Context, o operator, _ *struct{}) (*reply[PriceList], error) {
	prices, err := d.Usage.Prices(ctx, o.tenant)
	return answer(PriceList{prices}, err)
}

type setPriceInput struct{ Body usage.Price }

func (d *Door) setPrice(ctx context.Context, o operator, in *setPriceInput) (*reply[PriceList], error) {
	if err := d.Usage.SetPrice(ctx, o.tenant, o.by, in.Body); err != nil {
		return nil, err
	}
	return d.listPrices(ctx, o, nil)
}

type aPrice struct {
	Provider string `query:"provider" required:"true" minLength:"1" maxLength:"128"`
	Model    string `query:"model" required:"true" minLength:"1" maxLength:"128"`
}

func (d *Door) deletePrice(ctx context.Context, o operator, in *aPrice) (*done, error) {
	return nil, d.Usage.DeletePrice(ctx, o.tenant, o.by, in.Provider, in.Model)
}

func (d *Door) getStop(ctx context.Context, o operator, _ *struct{}) (*reply[Stop], error) {
	s, err := d.Usage.Stopped(ctx, o.tenant)
	return answer(Stop(s), err)
}

type setStopInput struct{ Body StopRequest }

func (d *Door) setStop(ctx context.Context, o operator, in *setStopInput) (*reply[Stop], error) {
	s, err := d.Usage.SetStop(ctx, o.tenant, o.by, in.Body.On, in.Body.Reason)
	return answer(Stop(s), err)
}
