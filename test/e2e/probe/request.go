package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/rankwright/rankwright/test/e2e/probe/report"
)

const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"

// tryAll sends the requests, a JSON list, one after the other.
func tryAll(list string) ([]report.Outcome, error) {
	var requests []report.Request
	if err := json.Unmarshal([]byte(list), &requests); err != nil {
		return nil, fmt.Errorf("$REQUESTS: %w", err)
	}
	client, token, err := connect()
	if err != nil {
		return nil, err
	}
	outcomes := make([]report.Outcome, 0, len(requests))
	for _, request := range requests {
		outcome, err := try(client, token, request)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", request.Name, err)
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, nil
}

func connect() (*http.Client, string, error) {
	token, err := os.ReadFile(serviceAccount + "token")
	if err != nil {
		return nil, "", err
	}
	authority, err := os.ReadFile(serviceAccount + "ca.crt")
	if err != nil {
		return nil, "", err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, "", errors.New("ca.crt: no certificate in it")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}, strings.TrimSpace(string(token)), nil
}

func try(client *http.Client, token string, request report.Request) (report.Outcome, error) {
	server := "https://" + net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	sent, err := http.NewRequest(request.Method, server+request.Path, strings.NewReader(request.Body)) //nolint:noctx // the client has a timeout
	if err != nil {
		return report.Outcome{}, err
	}
	sent.Header.Set("Authorization", "Bearer "+token)
	if request.ContentType != "" {
		sent.Header.Set("Content-Type", request.ContentType)
	}
	answer, err := client.Do(sent)
	if err != nil {
		return report.Outcome{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
	return report.Outcome{Name: request.Name, Code: answer.StatusCode, Body: string(body)}, err
}
