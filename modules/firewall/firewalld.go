package firewall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// firewalldRules are ports, services and rich rules of a zone of firewalld.
type firewalldRules struct {
	f    *Firewall
	zone string
}

func (f *Firewall) firewalld(files modules.FileReader) firewalldRules {
	zone := f.Zone
	for line := range strings.Lines(read(files, "/etc/firewalld/firewalld.conf")) {
		if name, ok := strings.CutPrefix(line, "DefaultZone="); ok {
			zone = cmp.Or(zone, strings.TrimSpace(name))
		}
	}
	return firewalldRules{f, cmp.Or(zone, "public")}
}

func (d firewalldRules) name() string { return firewalld + " " + d.zone }

func (d firewalldRules) files() []string {
	return []string{"/etc/firewalld/zones/" + d.zone + ".xml"}
}

// words are the rules in the language of firewall-cmd(1). firewalld applies rich rules with a lower priority first. If
// two rules have the same priority, it applies the rule that drops first (firewalld.richlanguage(5)).
func (d firewalldRules) words(h modules.Host, rules []rule) ([]string, error) {
	var all []string
	named := d.hasService(h.Files)
	done := map[string]bool{}
	for _, r := range rules {
		if r.iface != "" {
			return nil, modules.Refuse("firewalld has interfaces in zones: write zone in place of interface")
		}
		about := []string{""}
		if r.ports != nil {
			about = nil
		}
		for _, port := range portTexts(r.ports) {
			about = append(about, fmt.Sprintf(`port port="%s" protocol="%s" `, port, r.proto))
		}
		if named {
			about = []string{`service name="` + d.f.Service + `" `}
		}
		for n, what := range about {
			word := "rule "
			switch {
			case r.source.IsValid():
				source := r.source.String()
				if r.source.IsSingleIP() {
					source = r.source.Addr().String()
				}
				family := map[string]string{"ip": "ipv4", "ip6": "ipv6"}[r.family()]
				word += fmt.Sprintf(`priority="-%d" family="%s" source address="%s" %s%s`, r.source.Bits(), family, source, what, r.verdict)
			case r.verdict != accept || what == "":
				word += what + r.verdict
			case named:
				word = "service " + d.f.Service
			default:
				word = "port " + portTexts(r.ports)[n] + "/" + r.proto
			}
			if !done[word] {
				done[word] = true
				all = append(all, word)
			}
		}
	}
	return all, nil
}

// hasService reports whether firewalld knows the service by its name. Releases differ in the names that they know: for
// unknown ones the ports are used.
func (d firewalldRules) hasService(files modules.FileReader) bool {
	return d.f.Service != "" && slices.ContainsFunc([]string{"/etc", "/usr/lib"}, func(dir string) bool {
		return read(files, dir+"/firewalld/services/"+d.f.Service+".xml") != ""
	})
}

func (d firewalldRules) look(ctx context.Context, h modules.Host) (managed, error) {
	list := func(flags ...string) (all []string, err error) {
		exit, err := h.Commands.Probe(ctx, modules.Command{Argv: append([]string{"firewall-cmd", "--zone=" + d.zone, "--list-all"}, flags...), Reads: effect, Timeout: timeout, MaxOutput: maxList})
		switch {
		case err != nil:
			return nil, err
		case strings.Contains(exit.Stderr.Text, "INVALID_ZONE"):
			return nil, modules.Refuse("firewalld has no zone %q; list the zones with: firewall-cmd --get-zones", d.zone)
		case exit.Code != 0:
			return nil, modules.Refuse("firewall-cmd --zone=%s --list-all ended with exit code %d: %s", d.zone, exit.Code, strings.TrimSpace(exit.Stderr.Text))
		}
		for line := range strings.Lines(exit.Stdout.Text) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch {
			case key == "services" || key == "ports":
				for word := range strings.FieldsSeq(value) {
					all = append(all, strings.TrimSuffix(key, "s")+" "+word)
				}
			case strings.HasPrefix(line, "\trule "):
				all = append(all, strings.TrimSpace(line))
			}
		}
		return all, nil
	}
	inForce, err := list()
	if err != nil {
		return managed{}, err
	}
	kept, err := list("--permanent")
	return managed{inForce, kept}, err
}

func (d firewalldRules) calls(rule string, have, want presence) (all [][]string) {
	option := func(is, will bool) string {
		verb := "--remove-"
		if will {
			verb = "--add-"
		}
		if is == will {
			return ""
		}
		kind, value, _ := strings.Cut(rule, " ")
		if kind == "rule" {
			kind, value = "rich-rule", rule
		}
		return verb + kind + "=" + value
	}
	// The permanent rules come last, so the next boot has no rule that firewalld refuses now.
	if o := option(have.inForce, want.inForce); o != "" {
		all = append(all, []string{"firewall-cmd", "--zone=" + d.zone, o})
	}
	if o := option(have.kept, want.kept); o != "" {
		all = append(all, []string{"firewall-cmd", "--permanent", "--zone=" + d.zone, o})
	}
	return all
}

// mayAccept is always true: the zone of a login is not known, so nothing is certain.
func (d firewalldRules) mayAccept(string) bool { return true }
