package http

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// An answer is the answer of a server.
type answer struct {
	code  int
	to    string // target of a redirection, without possible secrets
	text  string
	whole bool // the text is complete
}

// send sends the request.
func (r *HTTP) send(ctx context.Context, h modules.Host) (answer, error) {
	text, kind, err := r.body()
	if err != nil {
		return answer{}, err
	}
	return r.exchange(ctx, h, r.method(), r.URL, text, kind)
}

// exchange sends a request. It adds the headers and the login of the resource if the request goes to the same server.
func (r *HTTP) exchange(ctx context.Context, h modules.Host, method, to, text, kind string) (answer, error) {
	timeout, err := r.timeout()
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer in %s", timeout))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, to, strings.NewReader(text))
	if err != nil {
		return answer{}, errors.New("the URL is not valid")
	}
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	request.Header.Set("User-Agent", "ccm-push")
	if own, err := url.Parse(r.URL); err == nil && own.Scheme == request.URL.Scheme && own.Host == request.URL.Host {
		r.introduce(request)
	}
	through, err := transport(h.Files, r.Socket, r.CA)
	if err != nil {
		return answer{}, err
	}
	client := &http.Client{
		Transport:     through,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, hidden(ctx, err)
	}
	defer response.Body.Close()
	return read(ctx, response)
}

// introduce adds the headers and the login, which only the server of the resource may see.
func (r *HTTP) introduce(request *http.Request) {
	for name, value := range r.Headers {
		if strings.EqualFold(name, "Host") {
			request.Host = value
			continue
		}
		request.Header.Set(name, value)
	}
	if r.Username != "" {
		request.SetBasicAuth(r.Username, r.Password)
	}
}

// hidden is an error without the URL, which may hold a secret.
func hidden(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if inner, ok := errors.AsType[*url.Error](err); ok {
		return inner.Err
	}
	return err
}

// transport returns the way to a server: through a Unix socket if socket is set, and with the authorities of the file ca alone
// if that is set.
func transport(files modules.FileReader, socket, ca string) (*http.Transport, error) {
	t := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, MaxResponseHeaderBytes: 64 << 10}
	if socket != "" {
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
	}
	if ca == "" {
		return t, nil
	}
	file, err := files.Open(ca)
	if err != nil {
		return nil, fmt.Errorf("ca: %w", modules.PermissionRefusal(err))
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxBody))
	if err != nil {
		return nil, fmt.Errorf("ca: %w", err)
	}
	t.TLSClientConfig.RootCAs = x509.NewCertPool()
	if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(text) {
		return nil, modules.Refuse("ca: %q has no certificates in PEM", ca)
	}
	return t, nil
}

func read(ctx context.Context, response *http.Response) (answer, error) {
	a := answer{code: response.StatusCode}
	if to, err := response.Location(); err == nil {
		a.to = modules.ShownURL(to.String())
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return answer{}, hidden(ctx, err)
	}
	a.whole = len(text) <= maxBody
	a.text = string(text[:min(len(text), maxBody)])
	return a, nil
}

// wrong returns why an answer is not as expected; nil if it is.
func (a answer) wrong(codes []int, values map[string]any) error {
	right := slices.Contains(codes, a.code)
	if len(codes) == 0 {
		right = a.code >= 200 && a.code < 300
	}
	if !right {
		text := fmt.Sprintf("it answers %d %s", a.code, http.StatusText(a.code))
		if a.to != "" {
			text += " to " + a.to
		}
		if said := strings.TrimSpace(a.text); said != "" && a.to == "" {
			text += ": " + some(said)
		}
		return errors.New(text)
	}
	if len(values) == 0 {
		return nil
	}
	is, err := a.json()
	if err != nil {
		return fmt.Errorf("it answers no JSON: %w", err)
	}
	return differs(is, values)
}

func (a answer) json() (any, error) {
	if !a.whole {
		return nil, fmt.Errorf("it is more than %s", modules.FormatSize(maxBody))
	}
	return decode(a.text)
}

// state is an answer as a value for other resources; too large parts are omitted.
func (a answer) state() (json.RawMessage, error) {
	s := struct {
		Status int    `json:"status"`
		Body   string `json:"body,omitempty"`
		JSON   any    `json:"json,omitempty"`
	}{Status: a.code}
	if len(a.text) <= maxState {
		s.Body = a.text
		if is, err := a.json(); err == nil {
			s.JSON, s.Body = is, ""
		}
	}
	return json.Marshal(s)
}

// maxState bounds, in bytes, an answer that others receive.
const maxState = 32 << 10

// some is the beginning of a server's text, on one line.
func some(text string) string {
	const most = 200
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.ToValidUTF8(text, "")
}
