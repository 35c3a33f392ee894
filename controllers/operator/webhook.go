package operator

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/rankwright/rankwright/controllers/binding"
	"github.com/rankwright/rankwright/controllers/certificates"
)

// Names of the webhook's objects, which are installed with the operator.
const (
	WebhookSecret        = "rankwright-webhook"
	WebhookConfiguration = "rankwright-pods"
)

// Webhook is how the webhook is served.
type Webhook struct {
	// Address to listen on; empty means all.
	Address string
	// Port to listen on.
	Port int
	// Hosts are the names and addresses that it is called by, for its certificate.
	Hosts []string
	// Now is the clock of the certificates; nil means the machine's.
	Now func() time.Time
	// Period is how often the certificates are looked at; 0 means the standard.
	Period time.Duration
}

// WebhookAt reads an address such as :9443. The webhook is called by the names of a Service. It returns nil for "0".
func WebhookAt(address, service, namespace string) (*Webhook, error) {
	if address == "0" {
		return nil, nil
	}
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%q: use [ADDRESS]:PORT, or 0 to serve none", address)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return nil, fmt.Errorf("%q: %q is not a port from 1 to 65535", address, text)
	}
	name := service + "." + namespace + ".svc"
	return &Webhook{Address: host, Port: int(port), Hosts: []string{name, name + ".cluster.local"}}, nil
}

// setup adds the webhook's server, its certificates and their probes to a manager.
func (w *Webhook) setup(mgr manager.Manager, direct client.Client, options Options) error {
	now := w.Now
	if now == nil {
		now = time.Now
	}
	keeper := &certificates.Keeper{
		Client: direct, Secret: client.ObjectKey{Namespace: options.Namespace, Name: WebhookSecret},
		Configuration: WebhookConfiguration, Hosts: w.Hosts, Now: now, Period: w.Period, Log: options.Log.WithName("certificates"),
	}
	if err := mgr.Add(keeper); err != nil {
		return fmt.Errorf("certificates of the webhook: %w", err)
	}
	server := webhook.NewServer(webhook.Options{Host: w.Address, Port: w.Port, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
		c.MinVersion = tls.VersionTLS12
		c.GetCertificate = keeper.Certificate
	}}})
	server.Register(binding.Path, &admission.Webhook{Handler: &binding.Admitter{Reader: mgr.GetCache(), VerifierImage: options.VerifierImage}})
	certified := func(*http.Request) error { return keeper.Ready() }
	err := errors.Join(mgr.Add(server), mgr.AddReadyzCheck("certificates", certified), mgr.AddReadyzCheck("webhook", server.StartedChecker()))
	if err != nil {
		return fmt.Errorf("server of the webhook and its probes: %w", err)
	}
	return nil
}
