package fleet

import (
	"fmt"
	"testing"
	"time"
)

// What one host changes must not cost a look at every other host's credential,
// and drops all of its own.
func TestTheCacheDropsAHostsOwnCredentials(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	c := credentialCache{entries: map[string]cachedCredential{}, ofHost: map[HostID][]string{}}
	for i := range 6 {
		e := cachedCredential{Credential: Credential{ID: fmt.Sprint(i)}, host: Host{ID: HostID(fmt.Sprint("h", i/2))}, read: now}
		c.put(e, 0)
		c.put(e, 0) // read again: still one entry
	}
	c.dropHost("h1")
	for i := range 6 {
		if _, _, ok := c.get(fmt.Sprint(i), now, time.Second); ok != (i/2 != 1) {
			t.Errorf("credential %d of host h%d: remembered is %v", i, i/2, ok)
		}
	}
	c.put(cachedCredential{Credential: Credential{ID: "late"}, host: Host{ID: "h1"}, read: now}, 0)
	if _, _, ok := c.get("late", now, time.Second); ok {
		t.Error("what was read before a change is remembered after it")
	}
	if len(c.ofHost) != 2 {
		t.Errorf("%d hosts in the index, want 2", len(c.ofHost))
	}
}
