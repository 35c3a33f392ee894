package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/util/keyutil"
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

// chain is what the Secret holds: the authorities that clients have to trust, the newest first, the key of the newest, and a
// serving certificate that one of the authorities signed.
type chain struct {
	authority, serving *tls.Certificate
	older              []*x509.Certificate
}

// decodeChain reads a Secret's data.
func decodeChain(data map[string][]byte) (*chain, error) {
	authority, err := tls.X509KeyPair(data[authoritiesKey], data[authorityKeyKey])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", authoritiesKey, authorityKeyKey, err)
	}
	serving, err := tls.X509KeyPair(data[servingKey], data[servingKeyKey])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", servingKey, servingKeyKey, err)
	}
	c := &chain{authority: &authority, serving: &serving}
	if c.older, err = x509.ParseCertificates(slices.Concat(authority.Certificate[1:]...)); err != nil {
		return nil, fmt.Errorf("%s: %w", authoritiesKey, err)
	}
	if !slices.ContainsFunc(c.authorities(), func(a *x509.Certificate) bool { return serving.Leaf.CheckSignatureFrom(a) == nil }) {
		return nil, fmt.Errorf("%s is signed by none of %s", servingKey, authoritiesKey)
	}
	return c, nil
}

// encode returns a Secret's data.
func (c *chain) encode() (map[string][]byte, error) {
	data := map[string][]byte{authoritiesKey: c.bundle(), servingKey: encodeCertificates(c.serving.Leaf)}
	for name, of := range map[string]*tls.Certificate{authorityKeyKey: c.authority, servingKeyKey: c.serving} {
		key, err := keyutil.MarshalPrivateKeyToPEM(of.PrivateKey)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		data[name] = key
	}
	return data, nil
}

// authorities returns the certificates that clients have to trust, the newest first; none where there is no chain yet.
func (c *chain) authorities() []*x509.Certificate {
	if c.authority == nil {
		return nil
	}
	return append([]*x509.Certificate{c.authority.Leaf}, c.older...)
}

// bundle returns the authorities in PEM.
func (c *chain) bundle() []byte { return encodeCertificates(c.authorities()...) }

// renew returns the chain as it should be at a time, and whether it differs. A nil chain is made from nothing. The bundle
// verifies both the new serving certificate and the one before, and the bundle before verifies the new one, unless what
// was there had expired.
func (c *chain) renew(now time.Time, hosts []string) (*chain, bool, error) {
	if c == nil || now.After(c.authority.Leaf.NotAfter) {
		c = &chain{}
	}
	next := *c
	var err error
	if c.authority == nil || due(c.authority.Leaf, now) {
		if next.authority, err = newAuthority(now); err != nil {
			return nil, false, err
		}
		next.older = c.authorities()
	}
	if c.serving == nil || next.needsServing(now, hosts) {
		signer := next.authority
		if !next.known(now) {
			signer = c.authority
		}
		if next.serving, err = newServing(now, hosts, signer); err != nil {
			return nil, false, err
		}
	}
	next.older = slices.DeleteFunc(slices.Clone(next.older), func(old *x509.Certificate) bool { return next.spent(old, now) })
	changed := next.authority != c.authority || next.serving != c.serving || len(next.older) != len(c.older)
	return &next, changed, nil
}

// needsServing says whether the serving certificate is old, for other hosts, or of an older authority than it could be.
func (c *chain) needsServing(now time.Time, hosts []string) bool {
	certificate := c.serving.Leaf
	if due(certificate, now) || slices.ContainsFunc(hosts, func(host string) bool { return certificate.VerifyHostname(host) != nil }) {
		return true
	}
	return c.known(now) && certificate.CheckSignatureFrom(c.authority.Leaf) != nil
}

// known says whether clients had the time to learn of the newest authority.
func (c *chain) known(now time.Time) bool {
	return len(c.older) == 0 || now.After(made(c.authority.Leaf).Add(overlap))
}

// spent says whether nobody serves with a certificate of an older authority any more: operators take a new one within a
// period.
func (c *chain) spent(old *x509.Certificate, now time.Time) bool {
	serving := c.serving.Leaf
	return now.After(old.NotAfter) || serving.CheckSignatureFrom(old) != nil && now.After(made(serving).Add(overlap))
}

// due says whether two thirds of a certificate's life are over.
func due(certificate *x509.Certificate, now time.Time) bool {
	from := made(certificate)
	const parts, used = 3, 2
	return now.After(from.Add(certificate.NotAfter.Sub(from) / parts * used))
}

func made(certificate *x509.Certificate) time.Time { return certificate.NotBefore.Add(skew) }
