package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"time"
)

// Lifetimes. A certificate is made anew when two thirds of its life are over, so that weeks remain to notice a failure.
const (
	authorityLifetime = 2 * 365 * 24 * time.Hour
	servingLifetime   = 90 * 24 * time.Hour
)

// overlap is how long a new authority is made known before anything is signed by it: API servers learn of it by a watch,
// and every operator patches it in within a period.
const overlap = time.Hour

// Keys of the Secret.
const (
	authoritiesKey  = "ca.crt"
	authorityKeyKey = "ca.key"
	servingKey      = "tls.crt"
	servingKeyKey   = "tls.key"
)

// chain is what the Secret holds: the authorities that clients are to trust, the newest first, the newest one's key, and a
// serving certificate that one of them signed.
type chain struct {
	authority *pair
	older     []*x509.Certificate
	serving   *pair
}

// decodeChain reads a Secret's data.
func decodeChain(data map[string][]byte) (*chain, error) {
	authorities, err := decodeCertificates(data[authoritiesKey])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", authoritiesKey, err)
	}
	serving, err := decodeCertificates(data[servingKey])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", servingKey, err)
	}
	c := &chain{authority: &pair{certificate: authorities[0]}, older: authorities[1:], serving: &pair{certificate: serving[0]}}
	for key, of := range map[string]*pair{authorityKeyKey: c.authority, servingKeyKey: c.serving} {
		of.key, err = decodeKey(data[key])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if !of.key.PublicKey.Equal(of.certificate.PublicKey) {
			return nil, fmt.Errorf("%s is not the key of %s", key, of.certificate.Subject.CommonName)
		}
	}
	if !slices.ContainsFunc(authorities, func(a *x509.Certificate) bool { return c.serving.certificate.CheckSignatureFrom(a) == nil }) {
		return nil, fmt.Errorf("%s is signed by none of %s", servingKey, authoritiesKey)
	}
	return c, nil
}

// encode returns a Secret's data.
func (c *chain) encode() (map[string][]byte, error) {
	authorityKey, err := c.authority.encodeKey()
	if err != nil {
		return nil, err
	}
	key, err := c.serving.encodeKey()
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		authoritiesKey: c.bundle(), authorityKeyKey: authorityKey,
		servingKey: encodeCertificates(c.serving.certificate), servingKeyKey: key,
	}, nil
}

// bundle is the authorities that clients are to trust.
func (c *chain) bundle() []byte {
	return encodeCertificates(append([]*x509.Certificate{c.authority.certificate}, c.older...)...)
}

// certificate is what the webhook serves with.
func (c *chain) certificate() *tls.Certificate {
	return &tls.Certificate{Certificate: [][]byte{c.serving.certificate.Raw}, PrivateKey: c.serving.key, Leaf: c.serving.certificate}
}

// renew returns the chain as it should be at a time, and whether it differs. A nil chain is made from nothing. The bundle
// verifies both the new serving certificate and the one before, and the bundle before verifies the new one, unless what
// was there had expired.
func (c *chain) renew(now time.Time, hosts []string) (*chain, bool, error) {
	if c == nil || now.After(c.authority.certificate.NotAfter) {
		fresh, err := newChain(now, hosts)
		return fresh, true, err
	}
	next := &chain{authority: c.authority, older: c.older, serving: c.serving}
	if due(c.authority.certificate, now) {
		authority, err := newAuthority(now, authorityLifetime)
		if err != nil {
			return nil, false, err
		}
		next.authority, next.older = authority, append([]*x509.Certificate{c.authority.certificate}, c.older...)
	}
	if next.needsServing(now, hosts) {
		signer := next.authority
		if !next.known(now) {
			signer = c.authority
		}
		serving, err := newServing(now, servingLifetime, hosts, signer)
		if err != nil {
			return nil, false, err
		}
		next.serving = serving
	}
	next.older = slices.DeleteFunc(slices.Clone(next.older), func(old *x509.Certificate) bool { return next.spent(old, now) })
	changed := next.authority != c.authority || next.serving != c.serving || len(next.older) != len(c.older)
	return next, changed, nil
}

func newChain(now time.Time, hosts []string) (*chain, error) {
	authority, err := newAuthority(now, authorityLifetime)
	if err != nil {
		return nil, err
	}
	serving, err := newServing(now, servingLifetime, hosts, authority)
	if err != nil {
		return nil, err
	}
	return &chain{authority: authority, serving: serving}, nil
}

// needsServing says whether the serving certificate is old, for other hosts, or of an older authority than it could be.
func (c *chain) needsServing(now time.Time, hosts []string) bool {
	certificate := c.serving.certificate
	if due(certificate, now) || slices.ContainsFunc(hosts, func(host string) bool { return certificate.VerifyHostname(host) != nil }) {
		return true
	}
	return c.known(now) && certificate.CheckSignatureFrom(c.authority.certificate) != nil
}

// known says whether clients had the time to learn of the newest authority.
func (c *chain) known(now time.Time) bool {
	return len(c.older) == 0 || now.After(made(c.authority.certificate).Add(overlap))
}

// spent says whether nobody serves with a certificate of an older authority any more: operators take a new one within a
// period.
func (c *chain) spent(old *x509.Certificate, now time.Time) bool {
	serving := c.serving.certificate
	return now.After(old.NotAfter) || serving.CheckSignatureFrom(old) != nil && now.After(made(serving).Add(overlap))
}

// due says whether two thirds of a certificate's life are over.
func due(certificate *x509.Certificate, now time.Time) bool {
	from := made(certificate)
	const parts, used = 3, 2
	return now.After(from.Add(certificate.NotAfter.Sub(from) / parts * used))
}

func made(certificate *x509.Certificate) time.Time { return certificate.NotBefore.Add(skew) }
