package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// execKubelet is the part of a kubelet that runs commands in containers: it speaks the protocol by which API servers ask for that. All its containers
// have one program, which runs on this machine whatever the path that is asked for.
type execKubelet struct {
	mu      sync.Mutex
	program string
	// asked is the last command that it ran, after the name of its container.
	asked []string
}

// hasProgram changes the program, and says what was asked for last.
func (k *execKubelet) hasProgram(program string) (asked []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.program = program
	return k.asked
}

// ask notes what is asked for, and says which program does it.
func (k *execKubelet) ask(container string, command []string) (program string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = append([]string{container}, command...)
	return k.program
}

// ServeHTTP runs a command, as POST /exec/NAMESPACE/POD/CONTAINER asks for.
func (k *execKubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	command := r.URL.Query()["command"]
	program := k.ask(r.PathValue("container"), command)
	if _, err := httpstream.Handshake(r, w, []string{remotecommand.StreamProtocolV4Name}); err != nil {
		return
	}
	opened := make(chan httpstream.Stream, 3)
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		opened <- s
		return nil
	})
	if connection == nil {
		return
	}
	defer func() { _ = connection.Close() }()
	streams := map[string]httpstream.Stream{}
	for range cap(opened) {
		s := <-opened
		streams[s.Headers().Get(corev1.StreamType)] = s
	}
	var errs bytes.Buffer
	run := exec.CommandContext(r.Context(), program, command[1:]...)
	run.Env = []string{"NODE_NAME=gpu-node-17"}
	run.Stdout, run.Stderr = streams[corev1.StreamTypeStdout], &errs
	status := statusOf(run.Run())
	_, _ = io.Copy(streams[corev1.StreamTypeStderr], &errs)
	_ = json.NewEncoder(streams[corev1.StreamTypeError]).Encode(status)
}

// statusOf is how a container runtime tells how a command ended.
func statusOf(err error) metav1.Status {
	var ended *exec.ExitError
	switch {
	case err == nil:
		return metav1.Status{Status: metav1.StatusSuccess}
	case errors.As(err, &ended):
		return metav1.Status{
			Status: metav1.StatusFailure, Reason: remotecommand.NonZeroExitCodeReason, Message: fmt.Sprint("command terminated with exit code ", ended.ExitCode()),
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: remotecommand.ExitCodeCauseType, Message: strconv.Itoa(ended.ExitCode())}}},
		}
	default:
		return metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonInternalError, Message: err.Error()}
	}
}
