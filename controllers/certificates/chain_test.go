package certificates

import (
	"bytes"
	"crypto/x509"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	hosts = []string{"rankwright-webhook.rankwright-operator.svc", "127.0.0.1"}
)

const day = 24 * time.Hour

// verify checks a chain's serving certificate as the API server does, with a bundle.
func verify(serving *x509.Certificate, bundle []byte, host string, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	_, err := serving.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return err
}

func mustRenew(t interface{ Fatal(...any) }, c *chain, now time.Time) (*chain, bool) {
	next, changed, err := c.renew(now, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return next, changed
}

func TestRenewal(t *testing.T) {
	first, changed := mustRenew(t, nil, start)
	if !changed {
		t.Fatal("nothing was made")
	}
	steps := []struct {
		name                        string
		after                       time.Duration
		authority, serving, changed bool
		authorities                 int
	}{
		{"an hour later", time.Hour, false, false, false, 1},
		{"before two thirds of the serving certificate's life", 59 * day, false, false, false, 1},
		{"after", 61 * day, false, true, true, 1},
		{"after two thirds of the authority's life, when the serving certificate is due as well", 488 * day, true, true, true, 2},
		{"within the overlap", 488*day + 30*time.Minute, false, false, false, 2},
		{"after the overlap", 488*day + 61*time.Minute, false, true, true, 2},
		{"while operators may serve with the one before", 488*day + 90*time.Minute, false, false, false, 2},
		{"after that", 488*day + 122*time.Minute, false, false, true, 1},
	}
	current := first
	for _, step := range steps {
		now := start.Add(step.after)
		next, changed := mustRenew(t, current, now)
		authority, serving := next.authority != current.authority, next.serving != current.serving
		if authority != step.authority || serving != step.serving || changed != step.changed || 1+len(next.older) != step.authorities {
			t.Errorf("%s: new authority %v, new serving certificate %v, changed %v, %d authorities; want %v, %v, %v, %d", step.name,
				authority, serving, changed, 1+len(next.older), step.authority, step.serving, step.changed, step.authorities)
		}
		current = next
	}
}

func TestRenewalForOtherHosts(t *testing.T) {
	first, _ := mustRenew(t, nil, start)
	next, changed, err := first.renew(start, append([]string{"localhost"}, hosts...))
	if err != nil || !changed || next.authority != first.authority || verify(next.serving.Leaf, next.bundle(), "localhost", start) != nil {
		t.Errorf("changed %v, %v", changed, err)
	}
}

// However late a round comes, API servers with the bundle from before or after it trust the certificates that are served before
// and after it, unless they had expired.
func TestRotationNeverBreaksTrust(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := start
		current, _ := mustRenew(t, nil, now)
		for range rapid.IntRange(1, 30).Draw(t, "rounds") {
			step := day
			if rapid.Bool().Draw(t, "minutes") {
				step = time.Minute
			}
			now = now.Add(time.Duration(rapid.Int64Range(15, 29).Draw(t, "steps")) * step)
			next, changed := mustRenew(t, current, now)
			for _, host := range hosts {
				for name, err := range map[string]error{
					"new certificate, new bundle": verify(next.serving.Leaf, next.bundle(), host, now),
					"old certificate, new bundle": verify(current.serving.Leaf, next.bundle(), host, now),
					"new certificate, old bundle": verify(next.serving.Leaf, current.bundle(), host, now),
				} {
					if err != nil {
						t.Fatalf("%s: %s for %s: %v", now, name, host, err)
					}
				}
			}
			if again, changes := mustRenew(t, next, now); changes {
				t.Fatalf("%s: a second round changes again: %v", now, again)
			}
			data, err := next.encode()
			if err != nil {
				t.Fatal(err)
			}
			read, err := decodeChain(data)
			if err != nil {
				t.Fatal(err)
			}
			if !changed && !bytes.Equal(next.bundle(), current.bundle()) {
				t.Fatal("the bundle changed unsaid")
			}
			current = read
		}
	})
}

func TestExpiredChainIsMadeAnew(t *testing.T) {
	first, _ := mustRenew(t, nil, start)
	now := start.Add(authorityLifetime + day)
	next, changed := mustRenew(t, first, now)
	if !changed || len(next.older) != 0 || verify(next.serving.Leaf, next.bundle(), hosts[0], now) != nil {
		t.Errorf("changed %v, %d older authorities", changed, len(next.older))
	}
}

func TestUnreadableSecrets(t *testing.T) {
	first, _ := mustRenew(t, nil, start)
	other, _ := mustRenew(t, nil, start)
	foreign, err := other.encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{authoritiesKey, authorityKeyKey, servingKey, servingKeyKey} {
		for name, value := range map[string][]byte{"missing": nil, "garbage": []byte("-----BEGIN"), "of another chain": foreign[key]} {
			data, err := first.encode()
			if err != nil {
				t.Fatal(err)
			}
			data[key] = value
			if _, err := decodeChain(data); err == nil {
				t.Errorf("%s %s: no error", key, name)
			}
		}
	}
	data, err := first.encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := decodeChain(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.bundle(), read.bundle()); diff != "" {
		t.Error(diff)
	}
}

func FuzzDecodeChain(f *testing.F) {
	first, _, err := (*chain)(nil).renew(start, hosts)
	if err != nil {
		f.Fatal(err)
	}
	data, err := first.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[authoritiesKey], data[authorityKeyKey], data[servingKey], data[servingKeyKey])
	f.Fuzz(func(t *testing.T, authorities, authorityKey, serving, key []byte) {
		c, err := decodeChain(map[string][]byte{authoritiesKey: authorities, authorityKeyKey: authorityKey, servingKey: serving, servingKeyKey: key})
		if err == nil && c.serving.Leaf == nil {
			t.Error("a chain without a certificate")
		}
	})
}
