package shadow

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Resource is the result of a resource in a check run of ccm-push.
type Resource struct {
	Host, Type, Name string
	Status           Status
	Message          string // why it fails
}

// A Difference is a thing about which the two check runs disagree.
type Difference struct {
	Host, Thing     string
	Ansible, Push   Status // "" means that no task, or no resource, is about it
	Tasks           []string
	AnsibleMessages []string
	PushMessages    []string
}

// A Comparison compares the results of two check runs.
type Comparison struct {
	Differences []Difference
	Equal       int            // things with equal results
	Uncertain   int            // things whose result ccm-push cannot predict
	Tasks       map[string]int // tasks that were not compared, by module
	Resources   map[string]int // resources that were not compared, by type
}

// A side holds the report of one program about a thing.
type side struct {
	status   Status
	tasks    []string
	messages []string
}

func (s *side) add(status Status, task, message string) {
	if strengths[status] > strengths[s.status] {
		s.status = status
	}
	if task != "" && !slices.Contains(s.tasks, task) {
		s.tasks = append(s.tasks, task)
	}
	if message != "" {
		s.messages = append(s.messages, message)
	}
}

type key struct {
	host string
	thing
}

// Compare compares the results of tasks and of resources.
func Compare(tasks []Task, resources []Resource) *Comparison {
	c := &Comparison{Tasks: map[string]int{}, Resources: map[string]int{}}
	ansible, push := map[key]*side{}, map[key]*side{}
	sets := map[key]thing{} // the things of tasks that are about several
	cut := map[string]bool{}
	for _, t := range tasks {
		if t.Status == Failed || t.Status == Unreachable { // Ansible processes no further tasks of the host
			cut[t.Host] = true
		}
		kind, names := t.things()
		if names == nil {
			if !slices.Contains(silent, t.Module) {
				c.Tasks[t.Module]++
			}
			continue
		}
		whole := thing{kind, strings.Join(names, "\n")}
		for _, name := range names {
			sets[key{t.Host, thing{kind, name}}] = whole
		}
		of(ansible, key{t.Host, whole}).add(t.Status, strings.TrimSpace(t.At+" "+t.Name), t.Message)
	}
	for _, r := range resources {
		kind := kindOf(func(one kindInfo) bool { return slices.Contains(one.types, r.Type) }).name
		name := plain(kind, r.Name)
		if kind == "" || name == "" {
			c.Resources[r.Type]++
			continue
		}
		k := key{r.Host, thing{kind, name}}
		if whole, ok := sets[k]; ok {
			k.thing = whole
		}
		of(push, k).add(r.Status, "", r.Message)
	}
	all := maps.Clone(ansible)
	maps.Copy(all, push)
	for k := range all {
		c.judge(k, cmp.Or(ansible[k], &side{}), cmp.Or(push[k], &side{}), cut[k.host])
	}
	slices.SortFunc(c.Differences, func(a, b Difference) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.Thing, b.Thing))
	})
	return c
}

func of(sides map[key]*side, k key) *side {
	if sides[k] == nil {
		sides[k] = &side{}
	}
	return sides[k]
}

// judge compares both sides of a thing. A skipped or missing thing equals a thing that does not change. cut reports that Ansible processed
// only some tasks of the host.
func (c *Comparison) judge(k key, ansible, push *side, cut bool) {
	switch {
	case push.status == Unknown:
		c.Uncertain++
	case acts(ansible.status) == acts(push.status):
		c.Equal++
	case cut && (ansible.status == "" || ansible.status == OK):
		c.Uncertain++
	default:
		c.Differences = append(c.Differences, Difference{
			Host: k.host, Thing: k.thing.String(), Ansible: ansible.status, Push: push.status,
			Tasks: ansible.tasks, AnsibleMessages: ansible.messages, PushMessages: push.messages,
		})
	}
}

// acts returns the result of a thing if it is more than leaving the thing as it is.
func acts(s Status) Status {
	if s == Changed || s == Failed || s == Unreachable {
		return s
	}
	return ""
}

// Text returns the differences and a summary, for people.
func (c *Comparison) Text() string {
	var b strings.Builder
	for _, d := range c.Differences {
		fmt.Fprintf(&b, "%s  %s\n    Ansible: %s%s\n    ccm-push: %s%s\n", d.Host, d.Thing,
			phrase(d.Ansible, "no task"), details(d.Tasks, d.AnsibleMessages), phrase(d.Push, "no resource"), details(nil, d.PushMessages))
	}
	fmt.Fprintf(&b, "%d compared: %d equal, %d different, %d unknown\n", c.Equal+c.Uncertain+len(c.Differences), c.Equal, len(c.Differences), c.Uncertain)
	for _, left := range []struct {
		name   string
		counts map[string]int
	}{{"tasks", c.Tasks}, {"resources", c.Resources}} {
		if len(left.counts) > 0 {
			fmt.Fprintf(&b, "%s not compared: %s\n", left.name, counted(left.counts))
		}
	}
	return b.String()
}

func phrase(s Status, none string) string {
	switch s {
	case "":
		return none
	case Changed:
		return "would change it"
	case Failed:
		return "fails"
	case Unreachable:
		return "cannot reach the host"
	}
	return "would not change it"
}

func details(places, messages []string) string {
	var text string
	if len(places) > 0 {
		text = " (" + strings.Join(places, "; ") + ")"
	}
	if len(messages) > 0 {
		text += ": " + strings.Join(messages, "; ")
	}
	return text
}

// counted lists counts, the largest first.
func counted(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, counts[name])
	}
	return strings.Join(names, ", ")
}
