package controlplane

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// MetricsReader returns the token of a service account of namespace default that has the role by which Prometheus reads metrics.
func (c *ControlPlane) MetricsReader(ctx context.Context) (string, error) {
	const name, role = "prometheus", "rankwright-metrics-reader"
	admin, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return "", fmt.Errorf("client: %w", err)
	}
	if _, err := admin.RbacV1().ClusterRoles().Get(ctx, role, metav1.GetOptions{}); apierrors.IsNotFound(err) { // nobody installed it
		objects, err := ReadConfig("rbac/metrics.yaml")
		if err == nil {
			err = Apply(ctx, c.admin, "", objects...)
		}
		if err != nil {
			return "", fmt.Errorf("role of readers: %w", err)
		}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := admin.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("account of a reader: %w", err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: name}},
	}
	if _, err := admin.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("binding of a reader: %w", err)
	}
	config, err := c.ConfigForAccount(ctx, metav1.NamespaceDefault, name, nil)
	if err != nil {
		return "", err
	}
	return config.BearerToken, nil
}

// Scrape reads metrics by HTTPS as Prometheus does, without a look at the certificate; without a token where it is empty.
func Scrape(ctx context.Context, address, token string) (status int, text string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", http.NoBody)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	reader := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, //nolint:gosec // signed by nobody
	}}
	response, err := reader.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}
