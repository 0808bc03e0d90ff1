// Package tenant says whose a record is. Every host, task, decision, usage row
// and audit fact carries an ID; until tenants are managed, it is Default.
package tenant

import "interlock/internal/fault"

// ID names a tenant: 1 to 64 characters of a-z, 0-9 and '-', starting with a letter.
type ID string

// Default is the tenant of an installation that has only one.
const Default ID = "default"

// Parse checks s and returns it as an ID, or a fault of kind Invalid.
func Parse(s string) (ID, error) {
	if len(s) == 0 || len(s) > 64 || s[0] < 'a' || s[0] > 'z' {
		return "", errInvalid
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return "", errInvalid
		}
	}
	return ID(s), nil
}

var errInvalid = fault.New(fault.Invalid, "invalid_tenant", "a tenant id is 1 to 64 characters of a-z, 0-9 and '-', starting with a letter")
