// The program rankwright-nccl has NCCL or RCCL check and measure the links of GPUs, as `node-agent verify-mesh` asks it line by
// line. It is a program of its own so that a library that hangs can be killed, and so that those who use it need no dynamic
// linking.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/rankwright/rankwright/internal/version"
	"github.com/rankwright/rankwright/pkg/mesh/collective/nccl"
	"github.com/rankwright/rankwright/pkg/mesh/verification/devicelib"
)

func main() {
	if len(os.Args) > 1 {
		// It has no flags: node-agent starts it and asks by its standard input.
		fmt.Println("rankwright-nccl", version.String())
		return
	}
	// Libraries print what they like to standard output.
	out := os.Stdout
	os.Stdout = os.Stderr
	loaded, err := nccl.Open()
	if err := devicelib.Serve(context.Background(), library{loaded}, err, os.Stdin, out); err != nil {
		fmt.Fprintln(os.Stderr, "rankwright-nccl:", err)
		os.Exit(1)
	}
}

// library is nccl's, as devicelib asks for it.
type library struct{ *nccl.Library }

// Loaded implements devicelib.Library.
func (l library) Loaded() (devicelib.Loaded, error) {
	devices, err := l.Devices()
	return devicelib.Loaded{Name: l.Name, Devices: devices}, err
}

// Join implements devicelib.Library.
func (l library) Join(ctx context.Context, id []byte, size, rank, ordinal int) (devicelib.Rank, error) {
	c, err := l.Library.Join(ctx, id, size, rank, ordinal)
	if err != nil {
		return nil, err
	}
	return c, nil
}
