package operators

import (
	"net/url"
	"strconv"
	"strings"

	"interlock/internal/serve"
)

// Paths of the API. Those that name one thing are built by the functions
// below, which escape the name.
const (
	Prefix = "/operator/v1"

	PathOpenAPI     = Prefix + "/openapi.json" // the only path that needs no token
	PathStatus      = Prefix + "/status"
	PathTasks       = Prefix + "/tasks"
	PathHosts       = Prefix + "/hosts"
	PathEnrolTokens = Prefix + "/enrol-tokens"
	PathUsage       = Prefix + "/usage"
	PathPrices      = Prefix + "/prices"
	PathStop        = Prefix + "/stop"
	PathAudit       = Prefix + "/audit"
	PathAuditVerify = Prefix + "/audit/verify"
	PathTokens      = Prefix + "/tokens"

	PathTenants           = Prefix + "/tenants"
	PathApps              = Prefix + "/apps"
	PathCredentialsRotate = Prefix + "/credentials/rotate"
	PathABNPurge          = Prefix + "/abn/purge"
)

// KeyHeader carries the idempotency key of a submit or a retry: 1 to 200
// printable ASCII characters. A repeat with the same key and the same request
// gets the task that the first one made.
const KeyHeader = serve.KeyHeader

// TaskPath is the path of one task, or of the part of it that verb names:
// cancel, retry, attempts, events, watch or decisions ("" for the task itself).
func TaskPath(id, verb string) string { return part(PathTasks, id, verb) }

// HostPath is the path of one host, or of its revoke, planner or drain.
func HostPath(id, verb string) string { return part(PathHosts, id, verb) }

// EnrolTokenPath is the path of one enrolment token's revoke.
func EnrolTokenPath(id, verb string) string { return part(PathEnrolTokens, id, verb) }

// TokenPath is the path of one API token's revoke.
func TokenPath(id, verb string) string { return part(PathTokens, id, verb) }

// DecisionPath is the path of one decision with its prompts.
func DecisionPath(taskID string, attempt, stepIndex int) string {
	return TaskPath(taskID, "attempts/"+strconv.Itoa(attempt)+"/decisions/"+strconv.Itoa(stepIndex))
}

// TenantPath is the path of one tenant, or of the part of it that verb names:
// subscription, sites, credentials, calls or resolutions ("" for the tenant
// itself).
func TenantPath(id, verb string) string { return part(PathTenants, id, verb) }

// TenantAppPath is the path of a tenant's enablement of one app.
func TenantAppPath(tenant, app string) string { return part(TenantPath(tenant, "apps"), app, "") }

// CredentialPath is the path of a tenant's credential for one app.
func CredentialPath(tenant, app string) string {
	return part(TenantPath(tenant, "credentials"), app, "")
}

// SitePath is the path of one site of a tenant, or of its keys.
func SitePath(tenant, site, verb string) string {
	return part(TenantPath(tenant, "sites"), site, verb)
}

// SiteKeyPath is the path of one key of a site.
func SiteKeyPath(tenant, site, kid string) string {
	return part(SitePath(tenant, site, "keys"), kid, "")
}

func part(root, id, verb string) string {
	p := root + "/" + segment(id)
	if verb != "" {
		p += "/" + verb
	}
	return p
}

// segment escapes a name for a path; dots too where they would mean a folder.
func segment(name string) string {
	if name == "." || name == ".." {
		return strings.ReplaceAll(name, ".", "%2E")
	}
	return url.PathEscape(name)
}

// Limits of lists.
const (
	DefaultPage = 50
	MaxPage     = 200
)
