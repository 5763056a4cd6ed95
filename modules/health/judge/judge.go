package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/health/goss"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// errUnknown means that a thing does not have the value, for example because it does not exist. No expectation about it
// is met.
var errUnknown = errors.New("no value")

// A finder returns the value of an attribute, in the attribute's shape. Errors except errUnknown mean that the value
// cannot be determined.
type finder func(attribute string) (any, error)

// Rules compares the host with rules of goss: OK if all expectations are met, CRITICAL if one is not met, UNKNOWN if a
// value cannot be determined. The text contains how many expectations are met, and a line for each one that is not. An
// error means that the rules are invalid, or that ctx has ended.
func Rules(ctx context.Context, h modules.Host, rules json.RawMessage) (wire.Health, string, error) {
	all, err := goss.Decode(rules)
	if err != nil {
		return "", "", err
	}
	var lines []string
	status, asked := wire.HealthOK, 0
	for _, rule := range all {
		find, err := look(ctx, h, rule)
		for _, attribute := range rule.Attributes() {
			asked++
			var have any
			at := err
			if at == nil {
				have, at = find(attribute)
			}
			line := func(format string, args ...any) {
				lines = append(lines, fmt.Sprintf("%s %q: %s", rule.Kind, rule.Key, attribute)+rule.Redact(fmt.Sprintf(format, args...)))
			}
			switch want := rule.Expect[attribute]; {
			case ctx.Err() != nil:
				return "", "", ctx.Err()
			case errors.Is(at, errUnknown):
				line(": %v, expected %s", at, want)
				status = wire.HealthCritical
			case at != nil:
				line(": %v", at)
				if status == wire.HealthOK {
					status = wire.HealthUnknown
				}
			case !want.Match(have):
				line(" is %s, not %s", shown(rule, have), want)
				status = wire.HealthCritical
			}
		}
	}
	return status, summary(asked, lines), nil
}

// summary begins with a summary in one line.
func summary(asked int, unmet []string) string {
	count := fmt.Sprintf("%d of %d expectations are met", asked-len(unmet), asked)
	if len(unmet) == 1 {
		return fmt.Sprintf("%s (%s)", unmet[0], count)
	}
	return strings.Join(append([]string{count}, unmet...), "\n")
}

// look returns the finder for the thing that a rule names.
func look(ctx context.Context, h modules.Host, r goss.Rule) (finder, error) {
	l := looker{ctx, h, r}
	switch r.Kind {
	case "addr":
		return l.addr()
	case "command":
		return l.command()
	case "dns":
		return l.dns()
	case "file":
		return l.file()
	case "group":
		return l.group()
	case "http":
		return l.http()
	case "interface":
		return l.netInterface()
	case "kernel-param":
		return l.kernelParam()
	case "matching":
		return of(map[string]any{"matches": r.Parameters["content"]}), nil
	case "mount":
		return l.mount()
	case "package":
		return l.pkg()
	case "port":
		return l.port()
	case "process":
		return l.process()
	case "service":
		return l.service()
	case "user":
		return l.user()
	}
	return nil, fmt.Errorf("checking a %s is not supported", r.Kind)
}

type looker struct {
	ctx  context.Context
	host modules.Host
	rule goss.Rule
}

// shown is a value in short, without the secrets of its rule.
func shown(rule goss.Rule, v any) string {
	const most = 200
	var text string
	switch v := v.(type) {
	case string:
		text = fmt.Sprintf("%q", rule.Redact(v))
	case []string:
		text = fmt.Sprintf("%q", v)
	case []any, map[string]any:
		b, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		text = string(b)
	default:
		text = fmt.Sprint(v)
	}
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// absent is the finder of something that is not there.
func absent(attribute string) finder {
	return func(asked string) (any, error) {
		if asked == attribute {
			return false, nil
		}
		return nil, errUnknown
	}
}

// of returns a finder that reads attributes from a map.
func of(values map[string]any) finder {
	return func(attribute string) (any, error) {
		v, ok := values[attribute]
		if !ok {
			return nil, errUnknown
		}
		return v, nil
	}
}

// probe runs a command that only looks.
func (l looker) probe(argv ...string) (modules.Exit, error) {
	return l.host.Commands.Probe(l.ctx, modules.Command{Argv: argv})
}
