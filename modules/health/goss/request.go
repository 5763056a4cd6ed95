package goss

import (
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Hidden replaces a secret.
const Hidden = "[redacted]"

// public are the request headers whose values may be shown.
var public = []string{"Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Cache-Control", "Content-Type", "Host", "User-Agent"}

// userinfo matches user and password of a URL.
var userinfo = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`//[^/\s"]*@`) })

// withoutUser hides user and password of the URLs in a text.
func withoutUser(text string) string { return userinfo().ReplaceAllString(text, "//"+Hidden+"@") }

// request checks the request of an http rule. Its errors quote no secret.
func (r Rule) request() error {
	var errs []error
	if _, err := r.headers(); err != nil {
		errs = append(errs, err)
	}
	for _, name := range []string{"ca-file", "cert-file", "key-file"} {
		if file := r.Text(name); file != "" && !path.IsAbs(file) {
			errs = append(errs, wrong("write the path of a file on the host", "%q of http %q is not an absolute path", name, r.Key))
		}
	}
	if (r.Text("cert-file") == "") != (r.Text("key-file") == "") {
		errs = append(errs, wrong("", `http %q needs both "cert-file" and "key-file"`, r.Key))
	}
	if _, err := r.Proxy(); err != nil {
		errs = append(errs, wrong("write proxy: http://proxy.example.com:3128", `"proxy" of http %q is not the URL of a proxy`, r.Key))
	}
	return errors.Join(errs...)
}

// Headers returns the request headers of an http rule.
func (r Rule) Headers() http.Header {
	h, _ := r.headers()
	return h
}

func (r Rule) headers() (http.Header, error) {
	list, _ := r.Parameters["request-headers"].([]any)
	h := http.Header{}
	for i, item := range list {
		text, _ := item.(string)
		name, value, ok := strings.Cut(text, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(text, "\r\n") || strings.ContainsAny(name, " \t") {
			return nil, wrong("write request-headers: [\"Accept: text/html\"]", `"request-headers" of http %q: item %d is not of the form NAME: VALUE`, r.Key, i+1)
		}
		h.Add(name, strings.TrimSpace(value))
	}
	return h, nil
}

// Proxy returns the proxy of an http rule; nil without one.
func (r Rule) Proxy() (*url.URL, error) {
	text := r.Text("proxy")
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return nil, errors.New("it is not the URL of a proxy")
	}
	return u, nil
}

// Redact returns a text without the secrets of a rule: its password, its request headers, and the password of its
// proxy.
func (r Rule) Redact(text string) string {
	if r.Kind != "http" {
		return text
	}
	var pairs []string
	hide := func(secret string) {
		if secret != "" {
			pairs = append(pairs, secret, Hidden)
		}
	}
	if password := r.Text("password"); password != "" {
		hide(base64.StdEncoding.EncodeToString([]byte(r.Text("username") + ":" + password)))
		hide(password)
	}
	for name, values := range r.Headers() {
		if slices.Contains(public, textproto.CanonicalMIMEHeaderKey(name)) {
			continue
		}
		for _, value := range values {
			hide(value)
			if _, token, ok := strings.Cut(value, " "); ok { // after Bearer or Basic
				hide(token)
			}
		}
	}
	if proxy, err := r.Proxy(); err == nil && proxy != nil && proxy.User != nil {
		password, _ := proxy.User.Password()
		hide(password)
	}
	return withoutUser(strings.NewReplacer(pairs...).Replace(text))
}

// Shown returns rules as they may be shown: without the secrets of http rules.
func Shown(rules map[string]any) map[string]any {
	byName, ok := rules["http"].(map[string]any)
	if !ok {
		return rules
	}
	safe := map[string]any{}
	for key, body := range byName {
		attributes, ok := body.(map[string]any)
		if !ok {
			safe[key] = body
			continue
		}
		rule := Rule{Kind: "http", Parameters: attributes}
		safe[withoutUser(key)] = rule.shown(attributes)
	}
	all := maps.Clone(rules)
	all["http"] = safe
	return all
}

// shown returns a value without the secrets of the rule.
func (r Rule) shown(v any) any {
	switch v := v.(type) {
	case string:
		return r.Redact(v)
	case []any:
		all := []any{}
		for _, item := range v {
			all = append(all, r.shown(item))
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for key, value := range v {
			all[key] = r.shown(value)
		}
		return all
	}
	return v
}
