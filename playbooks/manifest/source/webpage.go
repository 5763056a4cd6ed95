package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const maxRedirects = 5

// PageLimits bound the reading of one page.
type PageLimits struct {
	Time  time.Duration // redirects included
	Bytes int64
}

// DataLimits is for pages that are read into memory: 16 MiB within 10 seconds.
var DataLimits = PageLimits{Time: 10 * time.Second, Bytes: 16 << 20}

// A Page is the content at a URL. Its String shows neither user and password nor the values of a query, which can be
// secrets too.
type Page struct {
	url  *url.URL // without user information
	user *url.Userinfo
}

// ParsePage reads an http or https URL, which may hold user and password. The error
// shows nothing of it.
func ParsePage(text string) (Page, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" { // the text of err would show the password
		return Page{}, errors.New("this is not a valid URL: write https://host/path, with %XX for special characters in a password")
	}
	user := u.User
	u.User = nil
	return Page{u, user}, nil
}

// String implements [fmt.Stringer].
func (p Page) String() string {
	shown := *p.url
	shown.Fragment, shown.RawFragment = "", ""
	if shown.RawQuery != "" {
		shown.RawQuery = "…"
	}
	return shown.String()
}

// InTheClear reports whether the password can be read on its way.
func (p Page) InTheClear() bool { return p.user != nil && p.Unprotected() }

// Unprotected reports whether others on the way can read the page and change it.
func (p Page) Unprotected() bool {
	ip := net.ParseIP(p.url.Hostname())
	local := p.url.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	return p.url.Scheme == "http" && !local
}

// Read fetches the page.
func (p Page) Read(ctx context.Context, transport http.RoundTripper, limits PageLimits) ([]byte, error) {
	var page bytes.Buffer
	if err := p.CopyTo(ctx, transport, limits, &page); err != nil {
		return nil, err
	}
	return page.Bytes(), nil
}

// CopyTo writes the page to w. After an error a part of it may have been written.
func (p Page) CopyTo(ctx context.Context, transport http.RoundTripper, limits PageLimits, w io.Writer) error {
	tooLate := fmt.Errorf("no answer within %v", limits.Time)
	ctx, cancel := context.WithTimeoutCause(ctx, limits.Time, tooLate)
	defer cancel()
	err := p.get(ctx, transport, limits.Bytes, w)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if failed, ok := errors.AsType[*url.Error](err); ok { // whose text has the whole URL
		err = failed.Err
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", p, err)
	}
	return nil
}

func (p Page) get(ctx context.Context, transport http.RoundTripper, most int64, w io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url.String(), nil)
	if err != nil {
		return err
	}
	if p.user != nil {
		password, _ := p.user.Password()
		req.SetBasicAuth(p.user.Username(), password)
	}
	client := http.Client{Transport: transport, CheckRedirect: checkRedirect}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the answer is %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	n, err := io.Copy(w, io.LimitReader(resp.Body, most+1))
	if n > most {
		return fmt.Errorf("larger than %d MiB", most>>20)
	}
	return err
}

// checkRedirect lets a page lead to another one, but takes credentials only to
// the same server, and never away from encryption.
func checkRedirect(req *http.Request, via []*http.Request) error {
	last := via[len(via)-1]
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	case last.URL.Scheme == "https" && req.URL.Scheme != "https":
		return errors.New("it redirects from https:// to an unencrypted page")
	}
	req.URL.User = nil
	req.Header.Del("Authorization")
	req.Header.Del("Referer") // its query can hold a secret
	if authorization := last.Header.Get("Authorization"); authorization != "" && req.URL.Scheme == last.URL.Scheme && req.URL.Host == last.URL.Host {
		req.Header.Set("Authorization", authorization)
	}
	return nil
}
