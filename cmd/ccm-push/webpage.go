package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	webLimit     = 10 * time.Second // for one page, redirects included
	maxPage      = 16 << 20         // bytes
	maxRedirects = 5
)

// A webPage is what a URL leads to. Its String shows neither user and password
// nor the values of a query, which can be secrets too.
type webPage struct {
	url  *url.URL // without user information
	user *url.Userinfo
}

// parseWebPage reads an http or https URL, which may hold user and password.
func parseWebPage(text string) (webPage, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" { // the text of err would show the password
		return webPage{}, errors.New("this is no valid URL: write https://host/path, with %XX for special characters in a password")
	}
	user := u.User
	u.User = nil
	return webPage{u, user}, nil
}

// String implements [fmt.Stringer].
func (p webPage) String() string {
	shown := *p.url
	shown.Fragment, shown.RawFragment = "", ""
	if shown.RawQuery != "" {
		shown.RawQuery = "…"
	}
	return shown.String()
}

// inTheClear reports whether the password can be read on its way.
func (p webPage) inTheClear() bool {
	ip := net.ParseIP(p.url.Hostname())
	local := p.url.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	return p.user != nil && p.url.Scheme == "http" && !local
}

// read fetches the page within the limit.
func (p webPage) read(ctx context.Context, transport http.RoundTripper, limit time.Duration) ([]byte, error) {
	tooLate := fmt.Errorf("no answer within %v", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, tooLate)
	defer cancel()
	data, err := p.get(ctx, transport)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if failed, ok := errors.AsType[*url.Error](err); ok { // whose text has the whole URL
		err = failed.Err
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", p, err)
	}
	return data, nil
}

func (p webPage) get(ctx context.Context, transport http.RoundTripper) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url.String(), nil)
	if err != nil {
		return nil, err
	}
	if p.user != nil {
		password, _ := p.user.Password()
		req.SetBasicAuth(p.user.Username(), password)
	}
	client := http.Client{Transport: transport, CheckRedirect: checkRedirect}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxPage+1))
	if len(data) > maxPage {
		return nil, fmt.Errorf("larger than %d MiB", maxPage>>20)
	}
	return data, err
}

// checkRedirect lets a page lead to another one, but takes credentials only to
// the same server, and never away from encryption.
func checkRedirect(req *http.Request, via []*http.Request) error {
	last := via[len(via)-1]
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	case last.URL.Scheme == "https" && req.URL.Scheme != "https":
		return errors.New("it leads from https:// to a page without encryption")
	}
	req.URL.User = nil
	req.Header.Del("Authorization")
	req.Header.Del("Referer") // its query can hold a secret
	if authorization := last.Header.Get("Authorization"); authorization != "" && req.URL.Scheme == last.URL.Scheme && req.URL.Host == last.URL.Host {
		req.Header.Set("Authorization", authorization)
	}
	return nil
}
