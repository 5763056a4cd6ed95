package ral

import (
	"errors"
	"fmt"

	"github.com/ccm-push/ccm-push/modules"
)

// everyProvider stands in the place of one where all are asked for.
const everyProvider = "*"

// QueryLine implements [modules.Asker]: list PROVIDER, get PROVIDER NAME..., providers.
// A provider may be called by its type, if that leaves only one.
func (r *Ral) QueryLine(query string, words []string, _ func(string) (map[string]any, error)) ([]map[string]any, error) {
	w, err := modules.TakeApart(words, []string{"timeout"})
	rest := w.Rest
	switch {
	case err != nil:
		return nil, err
	case query == queryProviders && len(rest) > 0:
		return nil, fmt.Errorf("%q is one word too many: ral providers", rest[0])
	case query == queryProviders:
		rest = []string{everyProvider}
	case len(rest) == 0:
		return nil, errors.New("say which provider, as in ral " + query + " service::systemd")
	case query == queryList && len(rest) > 1:
		return nil, fmt.Errorf("%q is one word too many: ral list PROVIDER; ral get PROVIDER NAME... gives single resources", rest[1])
	case query == queryGet && len(rest) == 1:
		return nil, fmt.Errorf("say which resource: ral get %s NAME...; ral list %s gives all", rest[0], rest[0])
	}
	names := rest[1:]
	if len(names) == 0 {
		names = rest[:1]
	}
	var all []map[string]any
	for _, name := range names {
		properties := map[string]any{"name": name, "provider": rest[0]}
		if timeout, given := w.Options["timeout"]; given {
			properties["timeout"] = timeout
		}
		all = append(all, properties)
	}
	return all, nil
}

// BringsPrograms implements [modules.Bringer].
func (*Ral) BringsPrograms() {}
