package main

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"interlock/internal/serve/operators"
	"interlock/internal/usage"
)

func (p *program) usageCommand() *cobra.Command {
	show := p.usageShow("usage", "tokens and money: what was used, prices, and the switch that stops all decides")
	show.AddCommand(p.usageShow("show", "show what was used"),
		p.group("price", "the table of prices", p.priceList(), p.priceSet(), p.priceDelete()),
		p.usageStop(), p.usageResume())
	return show
}

func (p *program) usageShow(use, short string) *cobra.Command {
	var groups []string
	var id, from, to, host, task string
	var limit int
	c := p.operatorCommand(use, short, nil, func(cl *client, _ []string) error {
		query := url.Values{"group": groups, "limit": {strconv.Itoa(limit)}}
		for name, value := range map[string]string{"tenant": id, "from": from, "to": to, "host_id": host, "task_id": task} {
			if value != "" {
				query.Set(name, value)
			}
		}
		var report operators.UsageReport
		if err := cl.get(p.ctx, operators.PathUsage, query, &report); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(rows(report.Rows))
		}
		p.printUsage(report.Rows)
		return nil
	})
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 && c.HasSubCommands() {
			return unknownCommand(c, args[0])
		}
		return arguments()(c, args)
	}
	f := c.Flags()
	f.StringSliceVar(&groups, "by", []string{string(usage.ByDay), string(usage.ByModel)}, "group by day, host, task or model, several with commas")
	f.StringVar(&from, "from", "", "first `DAY`, as YYYY-MM-DD in UTC")
	f.StringVar(&to, "to", "", "`DAY` after the last, as YYYY-MM-DD in UTC")
	f.StringVar(&host, "host", "", "only of the host with this `ID`")
	f.StringVar(&task, "task", "", "only of the task with this `ID`")
	ownTenantFlag(c, &id)
	f.IntVar(&limit, "limit", operators.MaxPage, "how many rows")
	return c
}

// rows is a list that is never null.
func rows[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (p *program) printUsage(report []operators.UsageRow) {
	t := table{head: []string{"DAY", "HOST", "TASK", "PROVIDER", "MODEL", "CALLS", "FAILED", "INPUT TOKENS", "CACHED INPUT", "OUTPUT TOKENS", "COST"}}
	for _, r := range report {
		t.add(orDash(r.Day), orDash(r.Host), orDash(r.Task), orDash(r.Provider), orDash(r.Model), fmt.Sprint(r.Calls), fmt.Sprint(r.Failed),
			tokens(r.Input, r.Calls), tokens(r.CachedInput, r.Calls), tokens(r.Output, r.Calls), costs(r.Costs))
	}
	t.drop("-")
	p.print(t, "nothing was used")
}

// tokens says how many of the calls a sum does not cover: none known is not
// zero.
func tokens(s usage.Sum, calls int64) string {
	switch {
	case s.Unknown > 0 && s.Unknown >= calls:
		return "unknown"
	case s.Unknown > 0:
		return fmt.Sprintf("%d (+%s unknown)", s.Total, count(int(s.Unknown), "call"))
	}
	return fmt.Sprint(s.Total)
}

func costs(all []operators.Cost) string {
	text := ""
	for _, c := range all {
		if text != "" {
			text += ", "
		}
		if c.AtLeast {
			text += "≥ "
		}
		text += fmt.Sprintf("%s %s", money(c.Micro), c.Currency)
	}
	return orDash(text)
}

// money writes micro-units as units with the digits that matter.
func money(micro int64) string {
	return strconv.FormatFloat(float64(micro)/1e6, 'f', -1, 64)
}

func (p *program) priceList() *cobra.Command {
	return p.operatorCommand("list", "list the prices", arguments(), func(cl *client, _ []string) error {
		var list operators.PriceList
		if err := cl.get(p.ctx, operators.PathPrices, nil, &list); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(rows(list.Prices))
		}
		t := table{head: []string{"PROVIDER", "MODEL", "CURRENCY", "INPUT/1M", "CACHED INPUT/1M", "CACHE WRITE/1M", "OUTPUT/1M"}}
		for _, r := range list.Prices {
			t.add(r.Provider, r.Model, r.Currency, money(r.Input), money(r.CachedInput), money(r.CacheWrite), money(r.Output))
		}
		p.print(t, "there are no prices; set one with: interlock usage price set PROVIDER MODEL --input 3 --output 15")
		return nil
	})
}

func (p *program) priceSet() *cobra.Command {
	var price usage.Price
	var input, cached, write, output float64
	var c *cobra.Command
	c = p.operatorCommand("set PROVIDER MODEL", "set what a million tokens of a model cost; MODEL may end in *", arguments("a provider", "a model"), func(cl *client, args []string) error {
		if !anyChanged(c, "input", "cached-input", "cache-write", "output") {
			return usageError("say what a million tokens cost, such as --input 3 --output 15, or --input 0 for none; see: %s --help", c.CommandPath())
		}
		price.Provider, price.Model = args[0], args[1]
		for to, amount := range map[*int64]float64{&price.Input: input, &price.CachedInput: cached, &price.CacheWrite: write, &price.Output: output} {
			if !(amount >= 0 && amount <= 1e9) {
				return usageError("a price is a number from 0, in units of the currency for a million tokens")
			}
			*to = int64(amount*1e6 + 0.5)
		}
		if err := cl.put(p.ctx, operators.PathPrices, price, nil); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(price)
		}
		p.printf("set the price of %s %s\n", price.Provider, price.Model)
		return nil
	})
	f := c.Flags()
	f.StringVar(&price.Currency, "currency", "USD", "ISO 4217 `CODE`")
	f.Float64Var(&input, "input", 0, "`PRICE` of a million input tokens")
	f.Float64Var(&cached, "cached-input", 0, "`PRICE` of a million input tokens read from the provider's cache")
	f.Float64Var(&write, "cache-write", 0, "`PRICE` of a million tokens written to the provider's cache")
	f.Float64Var(&output, "output", 0, "`PRICE` of a million output tokens")
	return c
}

func anyChanged(c *cobra.Command, flags ...string) bool {
	return slices.ContainsFunc(flags, c.Flags().Changed)
}

func (p *program) priceDelete() *cobra.Command {
	return p.operatorCommand("delete PROVIDER MODEL", "remove a price", arguments("a provider", "a model"), func(cl *client, args []string) error {
		if err := cl.remove(p.ctx, operators.PathPrices, url.Values{"provider": {args[0]}, "model": {args[1]}}); err != nil {
			return err
		}
		return p.done("removed", args[0]+" "+args[1])
	})
}

func (p *program) usageStop() *cobra.Command {
	var reason string
	c := p.operatorCommand("stop", "refuse all decides until resume", arguments(), func(cl *client, _ []string) error {
		return p.setStop(cl, operators.StopRequest{On: true, Reason: reason})
	})
	c.Flags().StringVar(&reason, "reason", "", "why, shown to the hosts that are refused")
	return c
}

func (p *program) usageResume() *cobra.Command {
	return p.operatorCommand("resume", "allow decides again", arguments(), func(cl *client, _ []string) error {
		return p.setStop(cl, operators.StopRequest{})
	})
}

func (p *program) setStop(cl *client, r operators.StopRequest) error {
	var stop operators.Stop
	if err := cl.put(p.ctx, operators.PathStop, r, &stop); err != nil {
		return err
	}
	if p.json {
		return p.printJSON(stop)
	}
	if stop.On {
		p.printf("all decides are refused until: interlock usage resume\n")
	} else {
		p.printf("decides are allowed\n")
	}
	return nil
}
