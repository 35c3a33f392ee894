package release

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/rankwright/rankwright/internal/repository"
)

// What is published can be pulled by the digests that are signed, and by the version.
func TestPublish(t *testing.T) {
	folder, version := dist(t)
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	to := strings.TrimPrefix(server.URL, "http://") + "/rankwright"
	publish := exec.CommandContext(t.Context(), filepath.Join(root, "tools", "release.sh"), "publish")
	publish.Env = append(os.Environ(), "REGISTRY="+to)
	if said, err := publish.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	sums := string(read(t, filepath.Join(folder, "digests.sums")))
	var got []string
	for line := range strings.Lines(string(read(t, filepath.Join(folder, "digests.txt")))) {
		digest, err := name.NewDigest(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		place := digest.Context().Name()
		got = append(got, strings.TrimPrefix(place, to+"/"))
		if sum := strings.TrimPrefix(digest.DigestStr(), "sha256:") + "  " + place + "\n"; !strings.Contains(sums, sum) {
			t.Errorf("provenance is attested of\n%swithout %s", sums, sum)
		}
		byVersion, err := remote.Head(digest.Context().Tag(version))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if byVersion.Digest.String() != digest.DigestStr() {
			t.Errorf("%s:%s is %s, and %s is signed", place, version, byVersion.Digest, digest.DigestStr())
		}
	}
	if want := []string{"node-agent", "node-helper", "operator", "charts/rankwright"}; !slices.Equal(got, want) {
		t.Errorf("signed are %q, want %q", got, want)
	}
}
