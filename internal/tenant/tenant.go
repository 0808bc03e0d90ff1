// Package tenant says whose a record is. Every host, task, decision, usage row
// and audit fact carries an ID; until tenants are managed, it is Default.
package tenant

// ID names a tenant.
type ID string

// Default is the tenant of an installation that has only one.
const Default ID = "default"
