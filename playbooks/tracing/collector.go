package tracing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/inventory/printable"
)

// Limits of the cost of a collector.
const (
	maxWaiting  = 64               // requests that wait for it
	maxFailures = 3                // one after the other: then it is given up
	sendTime    = 10 * time.Second // limit of a request, by the specification
	drainTime   = 3 * time.Second  // time for the remaining requests at the end of the run
	maxAnswer   = 64 << 10         // bytes that are read
)

// A batch is a request with so many spans.
type batch struct {
	body  []byte
	spans int
}

// A collector is sent requests, one after the other.
type collector struct {
	endpoint string
	headers  http.Header
	client   *http.Client
	queue    chan batch
	cancel   context.CancelFunc
	sending  sync.WaitGroup
	drain    time.Duration

	// Used by the reporting goroutine:
	all, dropped int // spans
	// These belong to the sender, until that has ended.
	lost, failures int
	why            error // the last one
}

// Connect begins to send the spans to the configured collector, if there is one, until [Trace.Close] or the end of ctx.
func (t *Trace) Connect(ctx context.Context) {
	if t.config.Endpoint == "" {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &collector{
		endpoint: t.config.Endpoint, headers: t.config.headers, queue: make(chan batch, maxWaiting), cancel: cancel, drain: drainTime,
		client: &http.Client{
			Transport: http.DefaultTransport.(*http.Transport).Clone(),
			Timeout:   sendTime,
			// Headers may be secrets, which are for the endpoint alone.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	c.sending.Go(func() { c.send(ctx) })
	t.collector = c
}

// take queues a batch. It does not wait.
func (c *collector) take(b batch) {
	c.all += b.spans
	select {
	case c.queue <- b:
	default:
		c.dropped += b.spans
	}
}

func (c *collector) send(ctx context.Context) {
	for b := range c.queue {
		if c.failures >= maxFailures {
			c.lost += b.spans
			continue
		}
		rejected, err := c.post(ctx, b)
		if err == nil {
			c.failures = 0
			continue
		}
		c.why = err
		c.lost += rejected
		c.failures++
	}
}

// post sends a batch, and returns the number of spans that were not accepted, and why.
func (c *collector) post(ctx context.Context, b batch) (rejected int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(b.body))
	if err != nil {
		return b.spans, withoutURL(err)
	}
	r.Header = c.headers.Clone()
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.client.Do(r)
	if err != nil {
		return b.spans, withoutURL(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch {
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		return b.spans, errors.New(answer.Status)
	case err != nil:
		return b.spans, withoutURL(err)
	}
	var said struct {
		PartialSuccess struct {
			RejectedSpans json.Number `json:"rejectedSpans"`
			ErrorMessage  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(body, &said) != nil { // it need not say anything
		return 0, nil
	}
	if n, _ := said.PartialSuccess.RejectedSpans.Int64(); n > 0 {
		return int(min(n, int64(b.spans))), errors.New(said.PartialSuccess.ErrorMessage)
	}
	return 0, nil
}

// withoutURL is an error without the URL, which may hold a secret.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// Close waits a moment for the collector, and reports in one line the spans that it has not accepted.
func (t *Trace) Close() error {
	c := t.collector
	if c == nil {
		return nil
	}
	t.collector = nil
	close(c.queue)
	late := time.AfterFunc(c.drain, c.cancel)
	c.sending.Wait()
	late.Stop()
	c.cancel()
	c.client.CloseIdleConnections()
	missing := c.dropped + c.lost
	if missing == 0 {
		return nil
	}
	why := "it did not answer in time"
	switch {
	case errors.Is(c.why, context.Canceled):
	case c.why != nil:
		why = printable.Line(fmt.Sprintf("%.200s", c.why.Error()))
	}
	return fmt.Errorf("%d of %d spans of the trace were not taken by %s: %s", missing, c.all, shown(c.endpoint), why)
}

// shown is a URL without what may be a secret.
func shown(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "the collector"
	}
	return printable.Line((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String())
}
