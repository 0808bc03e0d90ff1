package serve

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the peers whose X-Request-Id and X-Forwarded-For are believed.
// The zero value trusts nobody.
type Proxies []netip.Prefix

// ParseProxies reads a comma-separated list of addresses and CIDR prefixes.
// The error names every entry that is neither.
func ParseProxies(list string) (Proxies, error) {
	var out Proxies
	var wrong []string
	for entry := range strings.SplitSeq(list, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		if p, err := netip.ParsePrefix(entry); err == nil {
			out = append(out, p.Masked())
		} else if a, err := netip.ParseAddr(entry); err == nil {
			out = append(out, netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()))
		} else {
			wrong = append(wrong, fmt.Sprintf("%q", entry))
		}
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("trusted proxies: not an address or a prefix like 10.0.0.0/8: %s", strings.Join(wrong, ", "))
	}
	return out, nil
}

func (p Proxies) trusts(a netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}

// sent reports whether a trusted proxy sent r.
func (p Proxies) sent(r *http.Request) bool {
	peer, ok := peerOf(r)
	return ok && p.trusts(peer)
}

func peerOf(r *http.Request) (netip.Addr, bool) {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	return ap.Addr().Unmap(), err == nil
}

// client returns the address that r came from: the last one of the forwarding
// chain that no trusted proxy vouches beyond. "" if the transport has none.
func (p Proxies) client(r *http.Request) string {
	peer, ok := peerOf(r)
	if !ok {
		return ""
	}
	chain := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(chain) - 1; i >= 0 && p.trusts(peer); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(chain[i]))
		if err != nil {
			break
		}
		peer = next.Unmap()
	}
	return peer.String()
}
