package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net/netip"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// lifetime of what the authority signs: longer than any test or demo, short enough to be worthless when a key leaks.
const lifetime = 7 * 24 * time.Hour

// authority signs the certificates of one control plane; its key never leaves memory.
type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	pem         []byte
}

// keyPair is a certificate and its private key in PEM.
type keyPair struct{ certificate, key []byte }

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("key of the certificate authority: %w", err)
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "rankwright-test-ca", NotBefore: time.Now().Add(-time.Hour)}, key)
	if err != nil {
		return nil, fmt.Errorf("certificate of the authority: %w", err)
	}
	return &authority{key: key, certificate: certificate, pem: encodeCertificate(certificate.Raw)}, nil
}

// server returns a certificate for the API server at the addresses.
func (a *authority) server(addresses []netip.Addr) (keyPair, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "kube-apiserver"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
	}
	for _, address := range addresses {
		template.IPAddresses = append(template.IPAddresses, address.AsSlice())
	}
	return a.sign(template)
}

// client returns a certificate that the API server takes for the user in the groups.
func (a *authority) client(user string, groups []string) (keyPair, error) {
	return a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: user, Organization: groups}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// sign makes a key, and a certificate for it that says what the template does.
func (a *authority) sign(template *x509.Certificate) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, fmt.Errorf("key of %s: %w", template.Subject.CommonName, err)
	}
	now := time.Now()
	template.NotBefore, template.NotAfter, template.KeyUsage = now.Add(-time.Hour), now.Add(lifetime), x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("certificate of %s: %w", template.Subject.CommonName, err)
	}
	encoded, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return keyPair{}, fmt.Errorf("key of %s: %w", template.Subject.CommonName, err)
	}
	return keyPair{certificate: encodeCertificate(der), key: encoded}, nil
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
}
