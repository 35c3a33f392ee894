package controlplane

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Config returns the administrator's client configuration (group system:masters): RBAC does not bind it, so a test of
// rules needs ConfigForUser or ConfigForToken.
func (c *ControlPlane) Config() *rest.Config { return rest.CopyConfig(c.admin) }

// ConfigForUser returns a configuration with a client certificate for the user in the groups.
func (c *ControlPlane) ConfigForUser(user string, groups ...string) (*rest.Config, error) {
	pair, err := c.authority.client(user, groups)
	if err != nil {
		return nil, err
	}
	config := c.anonymous()
	config.CertData, config.KeyData = pair.certificate, pair.key
	return config, nil
}

// NodeConfig returns a configuration for the kubelet of a node, with the address that nodes reach the API server by.
func (c *ControlPlane) NodeConfig(node string) (*rest.Config, error) {
	return c.outside("system:node:"+node, "system:nodes")
}

// ProxyConfig returns a configuration for kube-proxy on a node.
func (c *ControlPlane) ProxyConfig() (*rest.Config, error) { return c.outside("system:kube-proxy") }

func (c *ControlPlane) outside(user string, groups ...string) (*rest.Config, error) {
	config, err := c.ConfigForUser(user, groups...)
	if err == nil {
		config.Host = fmt.Sprintf("https://%s", netip.AddrPortFrom(c.options.network().Address, uint16(c.port)))
	}
	return config, err
}

// Authority returns the path of the certificate authority of clients and of the API server.
func (c *ControlPlane) Authority() string { return c.path("ca.crt") }

// ConfigForToken returns a configuration with a bearer token, as TokenRequest gives it.
func (c *ControlPlane) ConfigForToken(token string) *rest.Config {
	config := c.anonymous()
	config.BearerToken = token
	return config
}

// tokenLifetime is long enough for a demo that is kept for a day.
const tokenLifetime = 24 * time.Hour

// ConfigForAccount returns a configuration with a token of a service account, bound to a node where one is given. It is good for
// tokenLifetime.
func (c *ControlPlane) ConfigForAccount(ctx context.Context, namespace, name string, node *corev1.Node) (*rest.Config, error) {
	admin, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	seconds := int64(tokenLifetime.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	if node != nil {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}
	}
	response, err := admin.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("token of %s/%s: %w", namespace, name, err)
	}
	return c.ConfigForToken(response.Status.Token), nil
}

// anonymous has no limit of its own: client-go's default of 5 requests a second would set the pace of every test.
func (c *ControlPlane) anonymous() *rest.Config {
	return &rest.Config{
		Host:            c.url,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.authority.pem},
		QPS:             -1,
	}
}

// Kubeconfig returns the path of the administrator's kubeconfig, in the control plane's folder.
func (c *ControlPlane) Kubeconfig() string { return c.path("admin.kubeconfig") }

// WriteKubeconfig writes a configuration, as the Config methods give it, for programs that read a file.
func WriteKubeconfig(path string, config *rest.Config) error {
	const name = "rankwright"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData,
		ClientKeyData:         config.KeyData,
		Token:                 config.BearerToken,
	}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.CurrentContext = name
	content, err := clientcmd.Write(*file)
	if err != nil {
		return fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	return nil
}
