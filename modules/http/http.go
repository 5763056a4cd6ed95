package http

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// An HTTP is a request. A read-only request is sent in each check, and fails unless the answer is as expected; any
// other is a change, sent unless the answer of another URL satisfies the guard.
//
// It behaves like Ansible's uri, with an intended exception: redirections are answers and not followed, since only the
// manifest decides which servers a host talks to and sends a secret to. Certificates are verified.
type HTTP struct {
	Name         string            `json:"name" required:"true" doc:"purpose of the request, in words"`
	URL          string            `json:"url" required:"true" secret:"url" looks:"^https?://" doc:"URL of the request, without a user name"`
	Method       string            `json:"method,omitempty" enum:"GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS" default:"GET" doc:"method of the request"`
	Headers      map[string]string `json:"headers,omitempty" secret:"true" doc:"request headers; never printed"`
	Username     string            `json:"username,omitempty" doc:"user for basic authentication"`
	Password     string            `json:"password,omitempty" secret:"true" with:"username" doc:"password for basic authentication"`
	Body         string            `json:"body,omitempty" secret:"true" doc:"body of the request"`
	JSON         map[string]any    `json:"json,omitempty" secret:"true" doc:"body as a JSON object; sets the header Content-Type"`
	Status       []int             `json:"status,omitempty" doc:"accepted status codes; default: 200 to 299"`
	Values       map[string]any    `json:"values,omitempty" doc:"values that the JSON response must contain, by path with dots and indexes: checks.0.state"`
	ReadOnly     *bool             `json:"readonly,omitempty" doc:"true: the request changes nothing, and is sent in check runs too; default: true for GET, HEAD and OPTIONS"`
	Unless       string            `json:"unless,omitempty" secret:"url" looks:"^https?://" doc:"URL; if its response to GET has unless_status and unless_values, the request is not sent"`
	UnlessStatus []int             `json:"unless_status,omitempty" with:"unless" doc:"default: 200 to 299"`
	UnlessValues map[string]any    `json:"unless_values,omitempty" with:"unless" doc:"as values"`
	modules.Event
	Affects modules.Affects `json:"affects,omitzero" doc:"possible changes of this host by the request: paths, service#NAME, package#NAME; []: none"`
	CA      string          `json:"ca,omitempty" looks:"^/" doc:"absolute path, on the host, of trusted certificates in PEM; default: the host's"`
	Socket  string          `json:"socket,omitempty" looks:"^/" doc:"absolute path of the Unix socket of the server, whatever host the URL names"`
	Timeout string          `json:"timeout,omitempty" default:"30s" looks:"^([0-9.]+(ms|s|m|h))+$" doc:"limit for the response"`
}

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name:         "http",
		Doc:          "Sends a request from the host to a web server, and fails unless the response is as expected.",
		New:          func() modules.Resource { return new(HTTP) },
		ReportsState: true,
	}
}

// Requires implements [modules.Requirer].
func (r *HTTP) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

const defaultTimeout = 30 * time.Second

// maxBody bounds, in bytes, the body of a request and of an answer.
const maxBody = 1 << 20

// Validate implements [modules.Resource].
func (r *HTTP) Validate() error {
	errs := []error{
		modules.ValidateLine("name", r.Name), r.Affects.Validate(), modules.ValidatePath("ca", r.CA), modules.ValidatePath("socket", r.Socket),
		validateURL("url", r.URL), validateURL("unless", r.Unless), validateStatus("status", r.Status), validateStatus("unless_status", r.UnlessStatus),
		r.validateHeaders(),
	}
	if r.Body != "" && len(r.JSON) > 0 {
		errs = append(errs, modules.Errorf("json", `"body" and "json" are two things to send`))
	}
	if len(r.Body) > maxBody {
		errs = append(errs, modules.Errorf("body", `"body" has more than %s`, modules.FormatSize(maxBody)))
	}
	if r.readOnly() && (r.Unless != "" || r.RefreshOnly) {
		errs = append(errs, &modules.PropertyError{
			Path: "readonly", Msg: "a request that only looks is always sent",
			Hint: "write 'readonly: false' if it changes something",
		})
	}
	_, err := r.timeout()
	return errors.Join(append(errs, err)...)
}

func validateURL(property, text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || !slices.Contains([]string{"http", "https"}, u.Scheme) || u.Host == "" {
		return &modules.PropertyError{Path: property, Msg: "this is not an http or https URL", Hint: "write one such as http://127.0.0.1:8080/health"}
	}
	if u.User != nil {
		return &modules.PropertyError{Path: property, Msg: "the URL contains a user name", Hint: `write "username" and "password"`}
	}
	return nil
}

func validateStatus(property string, codes []int) error {
	for i, code := range codes {
		if code < 100 || code > 599 {
			return modules.Errorf(fmt.Sprintf("%s[%d]", property, i), "%d is outside 100-599", code)
		}
	}
	return nil
}

// headerName is a token of RFC 9110, 5.6.2.
var headerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") })

// ownHeaders are the headers that a request sets by itself.
var ownHeaders = []string{"Connection", "Content-Length", "Transfer-Encoding"}

func (r *HTTP) validateHeaders() error {
	for name, value := range r.Headers {
		switch {
		case !headerName().MatchString(name):
			return modules.Errorf("headers", "headers: %q is not a header name", name)
		case strings.ContainsAny(value, "\r\n\x00"):
			return modules.Errorf("headers", "headers: the value of %q is more than one line", name)
		case slices.ContainsFunc(ownHeaders, func(own string) bool { return strings.EqualFold(own, name) }):
			return modules.Errorf("headers", "headers: %q cannot be set", name)
		}
	}
	return nil
}

func (r *HTTP) timeout() (time.Duration, error) {
	if r.Timeout == "" {
		return defaultTimeout, nil
	}
	d, err := time.ParseDuration(r.Timeout)
	if err != nil || d < 10*time.Millisecond || d > time.Hour {
		return 0, &modules.PropertyError{Path: "timeout", Msg: fmt.Sprintf("invalid duration %q", r.Timeout), Hint: "write a duration from 10ms to 1h, such as 500ms, 10s or 5m"}
	}
	return d, nil
}

func (r *HTTP) method() string { return cmp.Or(r.Method, http.MethodGet) }

// readOnly reports whether the request only looks.
func (r *HTTP) readOnly() bool {
	if r.ReadOnly != nil {
		return *r.ReadOnly
	}
	return slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, r.method())
}

// body is the body to send, and its content type.
func (r *HTTP) body() (text, kind string, err error) {
	if len(r.JSON) == 0 {
		return r.Body, "", nil
	}
	b, err := json.Marshal(r.JSON)
	return string(b), "application/json", err
}
