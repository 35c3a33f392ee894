package access

import (
	"crypto/tls"
	"fmt"

	"k8s.io/client-go/util/cert"
)

// TLS returns how to serve with a certificate that is made now and signed by nobody, as the kubelet and the control plane do by default: it
// keeps tokens and metrics from who listens, and whoever reads them skips the check of the server's name.
func TLS() (*tls.Config, error) {
	text, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(text, key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate made: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}
