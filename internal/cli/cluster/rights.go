package cluster

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/rankwright/rankwright/pkg/why"
)

// right is what RBAC allows somebody in a namespace.
type right struct{ verb, resource, subresource string }

// of is the resource as kubectl names it.
func (r right) of() string {
	if r.subresource == "" {
		return r.resource
	}
	return r.resource + "/" + r.subresource
}

// unlessMissing is an error, or where the user lacks some of the rights that it took in the agents' namespace, an error about these with the command by which
// somebody who may do so gives them.
func (c *Cluster) unlessMissing(ctx context.Context, took []right, err error) error {
	if err == nil {
		return nil
	}
	user := c.user(ctx)
	var lacked, commands []string
	for _, r := range took {
		if c.may(ctx, r) {
			continue
		}
		role := why.Quoted("rankwright-" + strings.NewReplacer("/", "-", "%", "-").Replace(r.verb+"-"+r.of()+":"+user))
		lacked = append(lacked, r.verb+" "+r.of())
		commands = append(commands,
			fmt.Sprintf("kubectl create role %s --verb=%s --resource=%s -n %s", role, r.verb, r.of(), c.agents),
			fmt.Sprintf("kubectl create rolebinding %s --role=%[1]s --user=%s -n %s", role, why.Quoted(user), c.agents))
	}
	if len(lacked) == 0 {
		return err
	}
	return fmt.Errorf("user %s may not %s in namespace %s, which this would allow: %s", user, strings.Join(lacked, " and "), c.agents, strings.Join(commands, " && "))
}

// may says whether the user has a right in the agents' namespace; where nobody answers it is not the right that is missing.
func (c *Cluster) may(ctx context.Context, r right) bool {
	asked := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: c.agents, Verb: r.verb, Resource: r.resource, Subresource: r.subresource},
	}}
	err := c.clients[authorizationv1.SchemeGroupVersion].Post().Resource("selfsubjectaccessreviews").Body(asked).Do(ctx).Into(asked)
	return err != nil || asked.Status.Allowed
}

// user is the name that the API server knows the user by.
func (c *Cluster) user(ctx context.Context) string {
	asked := &authenticationv1.SelfSubjectReview{}
	_ = c.clients[authenticationv1.SchemeGroupVersion].Post().Resource("selfsubjectreviews").Body(asked).Do(ctx).Into(asked) // without an answer it is left to the reader
	return cmp.Or(asked.Status.UserInfo.Username, "NAME")
}
