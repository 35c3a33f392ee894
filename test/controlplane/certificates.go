package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/netip"
	"time"
)

// lifetime of every certificate: longer than any test or demo, short enough to be worthless when one leaks.
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
	template, err := newTemplate(pkix.Name{CommonName: "rankwright-test-ca"})
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("certificate of the authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("certificate of the authority: %w", err)
	}
	return &authority{key: key, certificate: certificate, pem: encodeCertificate(der)}, nil
}

// server returns a certificate for the API server at the addresses.
func (a *authority) server(addresses []netip.Addr) (keyPair, error) {
	return a.sign(pkix.Name{CommonName: "kube-apiserver"}, func(t *x509.Certificate) {
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		for _, address := range addresses {
			t.IPAddresses = append(t.IPAddresses, address.AsSlice())
		}
		t.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	})
}

// client returns a certificate that the API server takes for the user in the groups.
func (a *authority) client(user string, groups []string) (keyPair, error) {
	return a.sign(pkix.Name{CommonName: user, Organization: groups}, func(t *x509.Certificate) {
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	})
}

func (a *authority) sign(subject pkix.Name, adjust func(*x509.Certificate)) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, fmt.Errorf("key of %s: %w", subject.CommonName, err)
	}
	template, err := newTemplate(subject)
	if err != nil {
		return keyPair{}, err
	}
	adjust(template)
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("certificate of %s: %w", subject.CommonName, err)
	}
	encoded, err := encodeKey(key)
	if err != nil {
		return keyPair{}, fmt.Errorf("key of %s: %w", subject.CommonName, err)
	}
	return keyPair{certificate: encodeCertificate(der), key: encoded}, nil
}

// newSigningKey returns the private and the public key of service account tokens.
func newSigningKey() (private, public []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("key of service account tokens: %w", err)
	}
	if private, err = encodeKey(key); err != nil {
		return nil, nil, fmt.Errorf("key of service account tokens: %w", err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, nil, fmt.Errorf("key of service account tokens: %w", err)
	}
	return private, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

func newTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("serial number of %s: %w", subject.CommonName, err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}, nil
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
