package download

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// A Client gets files. The zero value is ready.
type Client struct {
	Roots *x509.CertPool // trusted certificates; nil means the certificates of the machine
	Idle  time.Duration  // how long a server may send nothing; 0 means 60s
	Tries int            // how often a download is begun or continued in all; 0 means 5
	Pause time.Duration  // before the second try; it doubles; 0 means 1s
}

const (
	defaultIdle  = 60 * time.Second
	defaultTries = 5
	defaultPause = time.Second
)

// A Part is the beginning of a file, got earlier.
type Part struct {
	Size int64 // bytes
	// ETag identifies the version of the file; empty if the server has not sent it, and then the part cannot be resumed
	// later.
	ETag string
}

// Get writes a file to into, which already contains part, and updates part: also after an error, part describes the
// content of into. Get does not check the hash. Errors show neither credentials nor the query of the URL.
func (c Client) Get(ctx context.Context, d modules.Download, into *os.File, part *Part) error {
	g := &getting{Client: c, download: d, into: into, part: part}
	transport := newTransport(c)
	defer transport.CloseIdleConnections()
	g.http = &http.Client{Transport: transport, CheckRedirect: checkRedirect(d)}
	pause := cmp.Or(c.Pause, defaultPause)
	for try := 1; ; try++ {
		err := g.once(ctx)
		if err == nil {
			return nil
		}
		if _, again := errors.AsType[temporary](err); !again || try >= cmp.Or(c.Tries, defaultTries) || ctx.Err() != nil {
			return err
		}
		if wait(ctx, pause) != nil {
			return err
		}
		pause *= 2
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// temporary is an error after which the next try may succeed.
type temporary struct{ error }

func (t temporary) Unwrap() error { return t.error }

// getting is one Get.
type getting struct {
	Client
	download modules.Download
	into     *os.File
	part     *Part
	http     *http.Client
	met      bool // the server has answered before
}

// once tries once to download the rest.
func (g *getting) once(ctx context.Context) error {
	idle := cmp.Or(g.Idle, defaultIdle)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(idle, func() { cancel(fmt.Errorf("the server sent nothing for %v", idle)) })
	defer watch.Stop()
	err := g.ask(ctx, func() { watch.Reset(idle) })
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
		if !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
			err = temporary{cause}
		}
	}
	return g.named(err)
}

// named adds the file to an error. The errors of net/http contain the URL with its query.
func (g *getting) named(err error) error {
	_, again := errors.AsType[temporary](err)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	err = fmt.Errorf("%s: %w%s", g.download, err, hint(err))
	if again {
		return temporary{err}
	}
	return err
}

// OnHost adds a hint to an error of a Get on a host, if the host cannot reach the server at all.
func OnHost(err error) error {
	if failed, ok := errors.AsType[*net.OpError](err); ok && failed.Op == "dial" {
		return fmt.Errorf("%w (if the controller can reach that server, write fetch: controller)", err)
	}
	return err
}

func hint(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return " (update the package ca-certificates on this machine, or use the certificates of the controller: 'fetch: controller')"
	}
	return ""
}

// ask makes one request. heard is called whenever the server has sent something.
func (g *getting) ask(ctx context.Context, heard func()) error {
	req, err := g.request(ctx)
	if err != nil {
		return err
	}
	resp, err := g.http.Do(req)
	if err != nil && g.met {
		return temporary{err}
	}
	if err != nil {
		return err
	}
	g.met = true
	defer resp.Body.Close()
	heard()
	if err := g.begin(resp); err != nil {
		return err
	}
	n, err := io.Copy(&bounded{g.into, g.download.MaxSize - g.part.Size}, &attentive{resp.Body, heard})
	g.part.Size += n
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTooLarge):
		return g.tooLarge()
	case errors.Is(err, errOnDisk):
		return err
	}
	return temporary{fmt.Errorf("the connection broke after %d bytes: %w", g.part.Size, err)}
}

func (g *getting) tooLarge() error {
	return fmt.Errorf(`it is larger than %d MiB; raise "max_size" if that is right`, g.download.MaxSize>>20)
}

func (g *getting) request(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.download.URL, nil)
	if err != nil {
		return nil, err
	}
	for name, value := range g.download.Headers {
		req.Header.Set(name, value)
	}
	if g.download.Username != "" || g.download.Password != "" {
		req.SetBasicAuth(g.download.Username, g.download.Password)
	}
	// A file that is compressed on its way has another size and other ranges.
	req.Header.Set("Accept-Encoding", "identity")
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "ccm-push")
	}
	if g.part.Size > 0 && g.part.ETag != "" {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", g.part.Size))
		req.Header.Set("If-Range", g.part.ETag)
	}
	return req, nil
}

// begin reads the head of an answer and seeks the file to the place of its body.
func (g *getting) begin(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusOK:
		if resp.ContentLength > g.download.MaxSize {
			return g.tooLarge()
		}
		return g.restart(strongETag(resp))
	case http.StatusPartialContent:
		from, ok := rangeStart(resp.Header.Get("Content-Range"))
		tag := strongETag(resp)
		if g.part.Size == 0 || !ok || from != g.part.Size || tag != "" && tag != g.part.ETag {
			return g.anew("the server answered with another part of the file")
		}
		_, err := g.into.Seek(g.part.Size, io.SeekStart)
		return err
	case http.StatusRequestedRangeNotSatisfiable:
		if g.part.Size > 0 {
			return g.anew("the server has no more of the file")
		}
	}
	err := fmt.Errorf("HTTP request failed with status %d: %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return temporary{err}
	}
	return err
}

// restart empties the file.
func (g *getting) restart(etag string) error {
	*g.part = Part{ETag: etag}
	if err := g.into.Truncate(0); err != nil {
		return err
	}
	_, err := g.into.Seek(0, io.SeekStart)
	return err
}

// anew discards the part, so that the next try begins at the beginning.
func (g *getting) anew(why string) error {
	if err := g.restart(""); err != nil {
		return err
	}
	return temporary{errors.New(why)}
}

// strongETag is the ETag of an answer that promises equal bytes (RFC 9110, 8.8.3).
func strongETag(resp *http.Response) string {
	const longest = 1024
	tag := resp.Header.Get("ETag")
	if !strings.HasPrefix(tag, `"`) || len(tag) > longest {
		return ""
	}
	return tag
}

// rangeStart reads "bytes 5-9/10".
func rangeStart(text string) (int64, bool) {
	rest, ok := strings.CutPrefix(text, "bytes ")
	first, _, dash := strings.Cut(rest, "-")
	from, err := strconv.ParseInt(first, 10, 64)
	return from, ok && dash && err == nil && from >= 0
}

var (
	errTooLarge = errors.New("too large")
	errOnDisk   = errors.New("writing it")
)

// A bounded writer accepts a limited number of bytes. The caller can distinguish its errors from errors of the reader.
type bounded struct {
	w    io.Writer
	left int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if int64(len(p)) > b.left {
		return 0, errTooLarge
	}
	n, err := b.w.Write(p)
	b.left -= int64(n)
	if err != nil {
		err = fmt.Errorf("%w: %w", errOnDisk, err)
	}
	return n, err
}

// An attentive reader calls a function when data has arrived.
type attentive struct {
	r     io.Reader
	heard func()
}

func (a *attentive) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	a.heard()
	return n, err
}
