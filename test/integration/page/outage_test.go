package page

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/internal/cli/page"
	"github.com/rankwright/rankwright/internal/cli/term"
)

// TestHaltedAPIServer says since when the page is not kept up to date, and takes it back when it is again.
func TestHaltedAPIServer(t *testing.T) {
	w := newWorld(t)
	w.add("before")
	s := w.opens(cluster.Kubeconfig(), term.Streams{After: quickly})
	s.awaits("node/before", "Idle")
	s.awaits("outage", "")
	halted := time.Now()
	cluster.HaltAPIServer()
	s.awaits("outage", "The API server does not answer: ")
	s.awaits("outage", "connection refused")
	var outage page.Outage
	w.Must(json.Unmarshal(s.parts["outage"], &outage))
	if ago := halted.Sub(outage.Since); ago > time.Minute || ago < -time.Second {
		t.Errorf("the API server was halted at %v, and the page says that it is from %v", halted, outage.Since)
	}
	w.Must(cluster.ResumeAPIServer(t.Context()))
	s.awaits("outage", "")
	w.add("after")
	s.awaits("node/after", "Idle")
}

// TestLostConnection finds out that a network is gone by which nothing comes any more, and follows by a new connection.
func TestLostConnection(t *testing.T) {
	for name, environment := range map[string]map[string]string{
		"HTTP/2":   {"HTTP2_READ_IDLE_TIMEOUT_SECONDS": "1", "HTTP2_PING_TIMEOUT_SECONDS": "1"},
		"HTTP/1.1": {"DISABLE_HTTP2": "true"},
	} {
		t.Run(name, func(t *testing.T) {
			for variable, value := range environment {
				t.Setenv(variable, value)
			}
			w := newWorld(t)
			w.add("before")
			config, err := cluster.ConfigForUser(name, "system:masters") // client-go has one way to the API server for each certificate
			w.Must(err)
			between := w.network(config.Host)
			config.Host = between.address
			s := w.opens(w.kubeconfig(config, nil), term.Streams{After: quickly})
			s.awaits("node/before", "Idle")
			between.cut()
			s.awaits("outage", "The API server does not answer: ")
			w.add("meanwhile")
			between.mend()
			s.awaits("node/meanwhile", "Idle")
			s.awaits("outage", "")
		})
	}
}

// TestUnknownUser says that somebody has to log in again.
func TestUnknownUser(t *testing.T) {
	w := newWorld(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Home, Name: "looks"}}
	w.Must(w.Create(t.Context(), account))
	w.bind("looks", "system:serviceaccount:"+w.Home+":looks")
	s := w.opens(w.kubeconfig(cluster.ConfigForAccount(t.Context(), w.Home, "looks", nil)), term.Streams{After: quickly})
	s.awaits("fleet", `"nodes":`)
	w.Must(w.Delete(t.Context(), account))
	s.awaits("outage", "does not know the user of the context any more: log in again")
}

// TestRightsChange names what may not be seen any more, and shows it again where it may.
func TestRightsChange(t *testing.T) {
	w := newWorld(t)
	w.add("n")
	role := w.bind("sees", "somebody")
	s := w.opens(w.kubeconfig(cluster.ConfigForUser("somebody")), term.Streams{After: quickly})
	s.awaits("node/n", "Idle")
	all := role.Rules
	w.Change(role, func() { role.Rules = all[1:] })
	s.awaits("fleet", `"notPermitted":[{"kind":"pods"}]`)
	s.awaits("node/n", "Unknown")
	w.Change(role, func() { role.Rules = all })
	s.awaits("node/n", "Idle")
	s.awaits("outage", "")
}

// bind gives a user a role that sees everything, pods by its first rule.
func (w world) bind(name, user string) *rbacv1.ClusterRole {
	w.Helper()
	see := []string{"get", "list", "watch"}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: see},
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: see},
		{APIGroups: []string{"rankwright.dev"}, Resources: []string{"*"}, Verbs: see},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: see},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	w.Must(w.Create(w.Context(), role))
	w.Must(w.Create(w.Context(), binding))
	return role
}
