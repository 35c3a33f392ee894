// Package certificates makes and rotates the certificates of the operator's webhook: an authority and a serving
// certificate in a Secret, and the authority in the MutatingWebhookConfiguration.
package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"strings"
	"time"
)

// skew is how far clocks may be behind ours: certificates count from before they are made.
const skew = 24 * time.Hour

// newAuthority makes an authority that signs itself. Its name is its own: verifiers try the authorities of one name.
func newAuthority(now time.Time) (*tls.Certificate, error) {
	return sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "rankwright-webhook-ca-" + strings.ToLower(rand.Text()[:8])}, NotBefore: now.Add(-skew), NotAfter: now.Add(authorityLifetime),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, nil)
}

// newServing makes a serving certificate for hosts, which are names or addresses.
func newServing(now time.Time, hosts []string, authority *tls.Certificate) (*tls.Certificate, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "rankwright-webhook"}, NotBefore: now.Add(-skew), NotAfter: now.Add(servingLifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return sign(template, authority)
}

// sign signs by an authority, or without one by the certificate's own key.
func sign(template *x509.Certificate, by *tls.Certificate) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("key of %s: %w", template.Subject.CommonName, err)
	}
	if by == nil {
		by = &tls.Certificate{Leaf: template, PrivateKey: key}
	}
	signed := &tls.Certificate{PrivateKey: key}
	der, err := x509.CreateCertificate(rand.Reader, template, by.Leaf, key.Public(), by.PrivateKey)
	if err == nil {
		signed.Certificate = [][]byte{der}
		signed.Leaf, err = x509.ParseCertificate(der)
	}
	if err != nil {
		return nil, fmt.Errorf("certificate of %s: %w", template.Subject.CommonName, err)
	}
	return signed, nil
}

func encodeCertificates(certificates ...*x509.Certificate) []byte {
	var text []byte
	for _, certificate := range certificates {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})...)
	}
	return text
}
