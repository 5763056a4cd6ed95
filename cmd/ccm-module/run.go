package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// answer is the output of run: the result of a session in its own words.
type answer struct {
	Type         string      `json:"type"`
	Name         string      `json:"name"`
	Status       wire.Status `json:"status"`
	Check        bool        `json:"check"`
	*wire.Result             // the status above hides its own, and is never omitted
}

// maxRequest bounds what run reads, in bytes.
const maxRequest = 64 << 20

// run reads one resource from in and prints one result. The exit status is 2 if the resource failed. A request of CCM's
// ensure API gets an answer of that API, always with exit status 0.
func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	check := len(args) == 1 && (args[0] == "--check" || args[0] == "--noop")
	if len(args) > 0 && !check {
		return usageError("usage: ccm-module run [--check] < resource.json")
	}
	input, err := io.ReadAll(io.LimitReader(in, maxRequest+1))
	switch {
	case err != nil:
		return err
	case len(input) > maxRequest:
		return usageError(fmt.Sprintf("the resource is larger than %d MiB", maxRequest>>20))
	case isCCM(input):
		return ensure(ctx, input, check, out)
	}
	entry, res, err := readResource(ctx, input)
	if err != nil {
		return usageError(err.Error())
	}
	host := system.New()
	host.Contents = modules.LocalContents{}
	r, err := runOne(ctx, host, entry, res, check)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(answer{entry.Type, entry.Name, r.Status, check, r}); err != nil {
		return err
	}
	if r.Status == wire.Failed {
		return exitError(2)
	}
	return nil
}
