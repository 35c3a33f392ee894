package certificates

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Keeper keeps the certificates. Every operator has one, the leader and those that stand by: all of them serve.
type Keeper struct {
	// Client reads from the API server and writes.
	Client client.Client
	// Secret holds keys and certificates. It has to exist, and may be empty.
	Secret client.ObjectKey
	// Configuration is the name of the MutatingWebhookConfiguration.
	Configuration string
	// Hosts are the names and addresses that the webhook is called by.
	Hosts []string
	// Now is the clock.
	Now func() time.Time
	// Period is how often Secret and configuration are looked at; 0 means every ten seconds.
	Period time.Duration
	// Log takes what fails.
	Log logr.Logger

	serving atomic.Pointer[tls.Certificate]
}

const standardPeriod = 10 * time.Second

// attempts is how often a write of the Secret is tried: other operators write it as well.
const attempts = 5

// NeedLeaderElection says that every operator keeps its certificates.
func (*Keeper) NeedLeaderElection() bool { return false }

// Start keeps the certificates until the context ends.
func (k *Keeper) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := k.keep(ctx); err != nil && ctx.Err() == nil {
			k.Log.Error(err, "keep the webhook's certificates")
		}
	}, cmp.Or(k.Period, standardPeriod))
	return nil
}

// keep does one round: it makes or renews what is due, makes the authorities known, and then serves with the certificate.
// Where another operator was faster its certificates are taken.
func (k *Keeper) keep(ctx context.Context) error {
	current, err := k.current(ctx)
	if err != nil {
		return err
	}
	if err := k.publish(ctx, current.bundle()); err != nil {
		// An operator that serves keeps its certificate, which clients know. One that does not serve yet has nothing to lose.
		k.serving.CompareAndSwap(nil, current.serving)
		return err
	}
	k.serving.Store(current.serving)
	return nil
}

// Certificate answers a TLS handshake.
func (k *Keeper) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if certificate := k.serving.Load(); certificate != nil {
		return certificate, nil
	}
	return nil, errors.New("the webhook has no certificate yet")
}

// Ready fails until there is a certificate to serve with.
func (k *Keeper) Ready() error {
	_, err := k.Certificate(nil)
	return err
}

// current returns the Secret's chain, renewed where it was due.
func (k *Keeper) current(ctx context.Context) (*chain, error) {
	for range attempts {
		next, err := k.renewed(ctx)
		if !apierrors.IsConflict(err) {
			return next, err
		}
	}
	return nil, fmt.Errorf("secret %s: other operators wrote it %d times in between", k.Secret, attempts)
}

func (k *Keeper) renewed(ctx context.Context) (*chain, error) {
	secret := &corev1.Secret{}
	if err := k.Client.Get(ctx, k.Secret, secret); err != nil {
		return nil, fmt.Errorf("read secret %s: %w", k.Secret, err)
	}
	var old *chain
	if len(secret.Data) > 0 {
		var err error
		if old, err = decodeChain(secret.Data); err != nil {
			k.Log.Error(err, "the webhook's certificates are unreadable and made anew", "secret", k.Secret)
		}
	}
	next, changed, err := old.renew(k.Now(), k.Hosts)
	if err != nil || !changed {
		return next, err
	}
	if secret.Data, err = next.encode(); err != nil {
		return nil, err
	}
	if err := k.Client.Update(ctx, secret); err != nil {
		return nil, fmt.Errorf("write secret %s: %w", k.Secret, err)
	}
	return next, nil
}

// publish puts the authorities into the configuration's webhooks. Who deploys the configuration leaves caBundle out.
func (k *Keeper) publish(ctx context.Context, bundle []byte) error {
	configuration := &admissionv1.MutatingWebhookConfiguration{}
	err := k.Client.Get(ctx, client.ObjectKey{Name: k.Configuration}, configuration)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read webhook configuration %s: %w", k.Configuration, err)
	}
	changed := configuration.DeepCopy()
	same := true
	for i := range changed.Webhooks {
		same = same && bytes.Equal(changed.Webhooks[i].ClientConfig.CABundle, bundle)
		changed.Webhooks[i].ClientConfig.CABundle = bundle
	}
	if same {
		return nil
	}
	// The list is replaced as a whole: the lock keeps what somebody else changed in it meanwhile.
	patch := client.MergeFromWithOptions(configuration, client.MergeFromWithOptimisticLock{})
	if err := k.Client.Patch(ctx, changed, patch); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("patch webhook configuration %s: %w", k.Configuration, err)
	}
	return nil
}
