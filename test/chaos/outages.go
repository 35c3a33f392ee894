package chaos

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/operation"
)

// certificatesExpired gives the webhook an authority and a certificate that were good until an hour ago.
func certificatesExpired(ctx context.Context, w *world) error {
	certificate, key, err := expiredPair("rankwright-webhook." + operation.Namespace + ".svc")
	if err != nil {
		return err
	}
	return w.certificates(ctx, map[string][]byte{"ca.crt": certificate, "ca.key": key, "tls.crt": certificate, "tls.key": key})
}

func certificatesDeleted(ctx context.Context, w *world) error { return w.certificates(ctx, nil) }

func (w *world) certificates(ctx context.Context, data map[string][]byte) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operation.Namespace, Name: operator.WebhookSecret}}
	if err := w.change(ctx, secret, func() { secret.Data = data }); err != nil {
		return err
	}
	w.between(ctx, time.Second, 12*time.Second)
	return nil
}

func expiredPair(host string) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	ago := time.Now().Add(-time.Hour)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "expired"}, NotBefore: ago.Add(-time.Hour), NotAfter: ago, DNSNames: []string{host},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	key, err = keyutil.MarshalPrivateKeyToPEM(private)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key, err
}

// crdsUpgraded gives all kinds a schema with one more field in spec and status, and takes it away again, as an upgrade and a rollback do.
func crdsUpgraded(ctx context.Context, w *world) error {
	before, err := controlplane.ReadConfig("crd")
	if err != nil {
		return err
	}
	var after []*unstructured.Unstructured
	for _, crd := range before {
		crd = crd.DeepCopy()
		versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if err != nil {
			return err
		}
		for _, v := range versions {
			version, is := v.(map[string]any)
			if !is {
				return fmt.Errorf("a version of %s is no object", crd.GetName())
			}
			for _, part := range []string{"spec", "status"} {
				path := []string{"schema", "openAPIV3Schema", "properties", part, "properties"}
				if _, has, _ := unstructured.NestedMap(version, path...); has {
					err = errors.Join(err, unstructured.SetNestedField(version, "string", append(path, "fieldOfTheNextVersion", "type")...))
				}
			}
		}
		if err := errors.Join(err, unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")); err != nil {
			return err
		}
		after = append(after, crd)
	}
	if err := controlplane.Apply(ctx, w.plane.Config(), "", after...); err != nil {
		return err
	}
	w.between(ctx, time.Second, 4*time.Second)
	return controlplane.Apply(ctx, w.plane.Config(), "", before...)
}

func ledgerMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operation.Namespace, Name: ledger.Name}}
}

func ledgerDeleted(ctx context.Context, w *world) error {
	w.watcher.awaitChange(ctx, 3*time.Second)
	return client.IgnoreNotFound(w.client.Delete(ctx, ledgerMap()))
}

func ledgerEmptied(ctx context.Context, w *world) error {
	w.watcher.awaitChange(ctx, 3*time.Second)
	of := ledgerMap()
	return client.IgnoreNotFound(w.change(ctx, of, func() {
		if _, has := of.Data["record"]; has {
			of.Data["record"] = ""
		}
	}))
}

// kubeletsAway has no kubelet and no agent say or do anything for a while.
func kubeletsAway(ctx context.Context, w *world) error {
	w.players.stay(true)
	w.between(ctx, 2*time.Second, 6*time.Second)
	w.players.stay(false)
	return nil
}

// nodesNotReady lasts for less than any grace.
func nodesNotReady(ctx context.Context, w *world) error {
	err := w.readiness(ctx, corev1.ConditionUnknown)
	w.between(ctx, time.Second, 6*time.Second)
	return errors.Join(err, w.readiness(ctx, corev1.ConditionTrue))
}

func (w *world) readiness(ctx context.Context, is corev1.ConditionStatus) error {
	var nodes corev1.NodeList
	if err := w.client.List(ctx, &nodes); err != nil {
		return err
	}
	var failed []error
	for i := range nodes.Items {
		before := client.MergeFrom(nodes.Items[i].DeepCopy())
		nodes.Items[i].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: is}}
		failed = append(failed, w.client.Status().Patch(ctx, &nodes.Items[i], before))
	}
	return errors.Join(failed...)
}
