package podresources

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// maxAnswer bounds an answer in bytes, as the kubelet's own client does (pkg/kubelet/apis/podresources/client.go of
// Kubernetes 1.36 is called with 16 MiB).
const maxAnswer = 16 << 20

// Client asks a kubelet. It connects when it is first asked, and again after the kubelet was away. It is for one caller at
// a time.
type Client struct {
	socket     string
	connection *grpc.ClientConn
	// connections counts the connections that were made; grpc dials from goroutines of its own.
	connections atomic.Int64
}

// NewClient returns a client of the kubelet that listens at a unix socket. It does not connect yet.
func NewClient(socket string) (*Client, error) {
	c := &Client{socket: socket}
	err := c.renew()
	return c, err
}

// renew makes a connection that waits for no back-off.
func (c *Client) renew() error {
	// The target is a name for messages only: the dialer knows the socket, whatever characters its path has.
	connection, err := grpc.NewClient("passthrough:///kubelet",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(c.dial),
		grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)))
	if err != nil {
		return fmt.Errorf("make a client of the kubelet at %s: %w", c.socket, err)
	}
	c.connection = connection
	return nil
}

func (c *Client) dial(ctx context.Context, _ string) (net.Conn, error) {
	connection, err := new(net.Dialer).DialContext(ctx, "unix", c.socket)
	if err == nil {
		c.connections.Add(1)
	}
	return connection, err
}

// Ask returns what the kubelet says now, and the number of the connection that it said it on: another number is another
// start of the kubelet. The error is stable: the same failure reads the same at each attempt.
func (c *Client) Ask(ctx context.Context) (answer *Answer, connection int64, err error) {
	before := c.connections.Load()
	answer, err = c.ask(ctx)
	if err == nil {
		return answer, c.connections.Load(), nil
	}
	if renewErr := errors.Join(c.connection.Close(), c.renew()); renewErr != nil {
		return nil, 0, errors.Join(err, renewErr)
	}
	// What failed may have been the connection to a kubelet that has been started anew since.
	if before > 0 && before == c.connections.Load() && ctx.Err() == nil {
		if answer, retryErr := c.ask(ctx); retryErr == nil {
			return answer, c.connections.Load(), nil
		}
	}
	return nil, 0, err
}

// ask asks what pods hold last: a device that a pod takes between the two calls is then in one of the answers at least.
func (c *Client) ask(ctx context.Context) (*Answer, error) {
	lister := podresourcesv1.NewPodResourcesListerClient(c.connection)
	allocatable, err := lister.GetAllocatableResources(ctx, &podresourcesv1.AllocatableResourcesRequest{})
	if err != nil {
		return nil, c.failed("GetAllocatableResources", err)
	}
	pods, err := lister.List(ctx, &podresourcesv1.ListPodResourcesRequest{})
	if err != nil {
		return nil, c.failed("List", err)
	}
	return newAnswer(pods.GetPodResources(), allocatable.GetDevices()), nil
}

func (c *Client) failed(method string, err error) error {
	return fmt.Errorf("ask the kubelet at %s for %s: %s", c.socket, method, status.Code(err))
}

// Close gives up the connection.
func (c *Client) Close() error { return c.connection.Close() }
