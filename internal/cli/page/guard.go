package page

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"
)

// NewToken returns what whoever asks the server must know.
func NewToken() string { return rand.Text() }

// policy is what the page may do: run and show what the server itself sends, and ask it for more.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'"

// headers are those of every answer.
var headers = [][2]string{
	{"Content-Security-Policy", policy},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "DENY"},
	{"Referrer-Policy", "no-referrer"},
	{"Cache-Control", "no-store"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Cross-Origin-Embedder-Policy", "require-corp"},
	{"Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"},
}

// guard lets a request through that a page of this server makes, or somebody who was given its address. The token is the first step of the path.
func guard(address net.Addr, token string, next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(address.String())
	hosts := []string{net.JoinHostPort("127.0.0.1", port), net.JoinHostPort("localhost", port)}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, header := range headers {
			w.Header().Set(header[0], header[1])
		}
		origin := r.Header.Get("Origin")
		given, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		switch {
		case r.Method != http.MethodGet:
			w.Header().Set("Allow", http.MethodGet)
			http.Error(w, "nothing can be changed here: use GET", http.StatusMethodNotAllowed)
		case !slices.Contains(hosts, r.Host):
			http.Error(w, "this server answers on the loopback alone: use the address that kubectl rankwright ui printed", http.StatusMisdirectedRequest)
		case origin != "" && !slices.Contains(hosts, strings.TrimPrefix(origin, "http://")):
			http.Error(w, "another site asks", http.StatusForbidden)
		case !slices.Contains([]string{"", "none", "same-origin"}, r.Header.Get("Sec-Fetch-Site")):
			http.Error(w, "another site asks", http.StatusForbidden)
		case subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1:
			http.Error(w, "the address lacks the token of this run: use the one that kubectl rankwright ui printed", http.StatusForbidden)
		default:
			inner := r.Clone(r.Context())
			inner.URL.Path, inner.URL.RawPath = "/"+rest, ""
			next.ServeHTTP(w, inner)
		}
	})
}
