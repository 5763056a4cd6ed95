package engine

import (
	"context"
	"errors"
	"io"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// fetch sends the file of a stable [modules.Fetcher] to the controller. A check run only predicts it.
func (a *attempt) fetch(ctx context.Context) error {
	t, j := a.turn, a.turn.job
	f, ok := j.resource.(modules.Fetcher)
	if !ok {
		return nil
	}
	what := f.Fetches()
	if what == "" {
		return nil
	}
	if j.secret {
		what = "it"
	}
	if !j.predicts() {
		if err := t.hand(ctx, f); err != nil {
			return err
		}
	}
	j.result.Fetched = true
	if j.result.Message = "fetched " + what; j.predicts() {
		j.result.Message = modules.Plan{Action: j.result.Message}.Predicted()
	}
	return nil
}

// hand hands a file over. One that grows meanwhile is cut where it may end.
func (t *turn) hand(ctx context.Context, f modules.Fetcher) (err error) {
	e := t.run.engine
	if e.Hand == nil {
		return modules.Refuse("no controller to receive the file")
	}
	file, err := f.Fetch(t.run.real.present(t.said))
	if err != nil {
		return err
	}
	defer file.Close()
	t.outside(func() {
		err = handOver(ctx, file, f.MostFetched(), func(p *wire.Part) error {
			p.Index = t.job.index
			return e.Hand(ctx, p)
		})
	})
	return err
}

// handOver sends at most so many bytes of a file, part by part.
func handOver(ctx context.Context, file io.Reader, most int64, send func(*wire.Part) error) error {
	rest := io.LimitReader(file, most)
	for offset := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		data := make([]byte, wire.MaxChunk) // one that could not be sent in time is still on its way
		n, err := io.ReadFull(rest, data)
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		if err := send(&wire.Part{Offset: offset, Data: data[:n], Last: last}); err != nil || last {
			return err
		}
		offset += int64(n)
	}
}
