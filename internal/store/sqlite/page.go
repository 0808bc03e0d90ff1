package sqlite

// page is a query for one page of a tenant's log, newest first, built out of
// fixed pieces.
type page struct {
	query string
	args  []any
}

// newestOf starts a page with a query that binds the tenant.
func newestOf(query string, args ...any) page { return page{query, args} }

// where narrows the page, unless the value is empty.
func (p *page) where(condition, value string) {
	if value != "" {
		p.query += ` AND ` + condition
		p.args = append(p.args, value)
	}
}

// upTo ends the query.
func (p *page) upTo(limit int) string {
	p.args = append(p.args, limit)
	return p.query + ` ORDER BY id DESC LIMIT ?`
}
