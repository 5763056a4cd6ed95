package brings

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The small host program has no HTTP client, which would make it a quarter larger. A request for a part of a file needs
// little of one.

var errProtocol = errors.New("the server answered with something else")

const (
	maxHeaders   = 64 << 10 // bytes of an answer before its body
	maxRedirects = 5
)

// request gets the bytes of a file from one to before the other.
func (f *Fetcher) request(ctx context.Context, file File, from, to int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	u, err := url.Parse(file.URI)
	for range maxRedirects {
		if err != nil {
			return nil, err
		}
		data, next, err := f.try(ctx, file, u, from, to)
		if err != nil || next == "" {
			return data, err
		}
		place, err := u.Parse(next)
		switch {
		case err != nil:
			return nil, err
		case place.Scheme != "http" && place.Scheme != "https", u.Scheme == "https" && place.Scheme != "https", place.User != nil, f.Password(place.Hostname()):
			return nil, errProtocol
		}
		u = place
	}
	return nil, errProtocol
}

// try makes one request. It returns the bytes, or the place that the server names instead.
func (f *Fetcher) try(ctx context.Context, file File, u *url.URL, from, to int64) (data []byte, next string, err error) {
	target := u.RequestURI()
	server := u.Host
	if u.Port() == "" {
		server = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	address := server
	proxy, err := f.Proxy(file, u)
	if err != nil {
		return nil, "", err
	}
	if proxy != nil {
		if address = proxy.Host; proxy.Port() == "" {
			address = net.JoinHostPort(proxy.Hostname(), "80")
		}
		if proxy.Scheme != "http" || proxy.User != nil {
			return nil, "", errSettings
		}
		if u.Scheme == "http" {
			target = u.Scheme + "://" + u.Host + target
		}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, "", err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if u.Scheme == "https" {
		if proxy != nil {
			if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", server, server); err != nil {
				return nil, "", err
			}
			status, _, err := readHeaders(bufio.NewReader(&single{io.LimitReader(conn, maxHeaders)}))
			if err != nil || status != 200 {
				return nil, "", errors.Join(errProtocol, err)
			}
		}
		if conn, err = secure(ctx, conn, u.Hostname()); err != nil {
			return nil, "", err
		}
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: ccm-push\r\nAccept-Encoding: identity\r\nRange: bytes=%d-%d\r\nConnection: close\r\n\r\n",
		target, u.Host, from, to-1); err != nil {
		return nil, "", err
	}
	r := bufio.NewReader(io.LimitReader(conn, maxHeaders+to-from))
	status, headers, err := readHeaders(r)
	if err != nil {
		return nil, "", err
	}
	switch {
	case status == 206 && headers["content-range"] != fmt.Sprintf("bytes %d-%d/%d", from, to-1, file.Size), headers["transfer-encoding"] != "":
		return nil, "", errProtocol
	case status == 206:
		f.notes(file, headers["last-modified"])
	case status == 200: // the server sends all of it
		if length := headers["content-length"]; from != 0 || length != "" && length != strconv.FormatInt(file.Size, 10) {
			return nil, "", errProtocol
		}
	case (status == 301 || status == 302 || status == 303 || status == 307 || status == 308) && headers["location"] != "":
		return nil, headers["location"], nil
	default:
		return nil, "", errors.New("status " + strconv.Itoa(status))
	}
	data = make([]byte, to-from)
	_, err = io.ReadFull(r, data)
	return data, "", err
}

// notes keeps the time at which a server last modified a file, from a header of its answer.
func (f *Fetcher) notes(file File, header string) {
	modified, err := time.Parse(time.RFC1123, header) // http.TimeFormat
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.modified == nil {
		f.modified = map[string]time.Time{}
	}
	f.modified[file.URI] = modified
}

// readHeaders reads the status and the headers of an answer, by lower-case name.
func readHeaders(r *bufio.Reader) (status int, headers map[string]string, err error) {
	headers = map[string]string{}
	for n := 0; ; n++ {
		line, err := r.ReadString('\n')
		if err != nil {
			return 0, nil, err
		}
		line = strings.TrimRight(line, "\r\n")
		if n == 0 {
			version, rest, _ := strings.Cut(line, " ")
			code, _, _ := strings.Cut(rest, " ")
			if status, err = strconv.Atoi(code); err != nil || !strings.HasPrefix(version, "HTTP/1.") {
				return 0, nil, errProtocol
			}
			continue
		}
		if line == "" {
			return status, headers, nil
		}
		if name, value, ok := strings.Cut(line, ":"); ok {
			headers[strings.ToLower(name)] = strings.TrimSpace(value)
		}
	}
}

// single reads one byte at a time, so that a buffer takes nothing of the data after the headers.
type single struct{ io.Reader }

func (s *single) Read(p []byte) (int, error) { return s.Reader.Read(p[:min(1, len(p))]) }
