package wait

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/modules"
)

// Limits of one look: a port that drops packets is tried again, and a look that begins shortly before the timeout still
// finds out why the condition is not met.
const (
	minLook = 100 * time.Millisecond
	maxLook = 10 * time.Second
)

// maxLine bounds a line of a file, in bytes.
const maxLine = 1 << 20

// look returns in why the reason why the condition is not met yet; nil if it is. err means that it cannot be checked. A
// look takes at most the time that is left, within the limits of one look.
func (w *Wait) look(ctx context.Context, h modules.Host, left time.Duration) (why, err error) {
	within, cancel := context.WithTimeout(ctx, min(max(left, minLook), maxLook))
	defer cancel()
	switch {
	case w.Port != 0:
		why = w.dial(within)
	case w.URL != "":
		why = w.get(within)
	case w.Path != "":
		why, err = w.find(h)
	default:
		why, err = w.probe(within, h)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	switch {
	case err != nil:
		return nil, err
	case w.Ensure != absent:
		return why, nil
	case why == nil:
		return errors.New("it is still so"), nil
	}
	return nil, nil
}

// dial returns why the port does not accept connections.
func (w *Wait) dial(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(cmp.Or(w.Host, "127.0.0.1"), strconv.Itoa(w.Port)))
	if err != nil {
		return err
	}
	return conn.Close()
}

// get returns why the answer of the URL is not an expected one.
func (w *Wait) get(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL, nil)
	if err != nil {
		return errors.New("the URL is not valid")
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if inner, ok := errors.AsType[*url.Error](err); ok {
		return inner.Err // without the URL, which may hold a secret
	}
	if err != nil {
		return err
	}
	response.Body.Close()
	if w.right(response.StatusCode) {
		return nil
	}
	return fmt.Errorf("it answers %d %s", response.StatusCode, http.StatusText(response.StatusCode))
}

func (w *Wait) right(code int) bool {
	if len(w.Status) == 0 {
		return code >= 200 && code < 300
	}
	return slices.Contains(w.Status, code)
}

// find returns why the path, or the line in it, is missing.
func (w *Wait) find(h modules.Host) (why, err error) {
	info, err := modules.Follow(h.Files, w.Path)
	switch {
	case modules.NotThere(err):
		return errors.New("it does not exist"), nil
	case err != nil:
		return nil, modules.PermissionRefusal(err)
	case w.Line == "":
		return nil, nil
	case info.Kind != modules.Regular:
		return nil, fmt.Errorf("%q is not a regular file", w.Path)
	}
	line, err := regexp.Compile(w.Line)
	if err != nil {
		return nil, err
	}
	f, err := h.Files.Open(w.Path)
	if modules.NotThere(err) { // it existed a moment ago
		return errors.New("it does not exist"), nil
	}
	if err != nil {
		return nil, modules.PermissionRefusal(err)
	}
	defer f.Close()
	return matches(f, line)
}

// matches returns an error in why if no line of a file matches.
func matches(f io.Reader, line *regexp.Regexp) (why, err error) {
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if line.Match(lines.Bytes()) {
			return nil, nil
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return errors.New("no line matches"), nil
}

// probe returns why the command does not succeed.
func (w *Wait) probe(ctx context.Context, h modules.Host) (why, err error) {
	words, err := shellquote.Split(w.Command)
	if err != nil {
		return nil, err
	}
	exit, err := h.Commands.Probe(ctx, modules.Command{Argv: words, Home: true})
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("it does not end in time"), nil
	case err != nil:
		return nil, err
	case exit.Code == 0:
		return nil, nil
	}
	return fmt.Errorf("it ends with %d%s", exit.Code, lastLine(exit.Stderr.Text)), nil
}

// lastLine returns the last line of a command's output, after a colon, or "" without output.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	return ": " + strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
