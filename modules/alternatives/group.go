package alternatives

import (
	"bufio"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// effect is the kind of effect that a name with alternatives has: Key is the name, State a [group].
const effect modules.EffectKind = "alternatives"

// A group is a host's state of a name. The zero group has no alternatives.
type group struct {
	manual   bool
	link     string  // link that starts the program
	slaves   []slave // further links that follow it, such as those of manual pages; without paths
	choices  []choice
	selected string // alternative that the name leads to
}

// A choice is one alternative.
type choice struct {
	path     string
	priority int
	slaves   []slave
}

// A slave is a link that follows the choice, as the program calls it.
type slave struct {
	Link string `json:"link"`
	Name string `json:"name"`
	Path string `json:"path"` // target of the link
}

func (g group) find(path string) (choice, bool) {
	i := slices.IndexFunc(g.choices, func(c choice) bool { return c.path == path })
	if i < 0 {
		return choice{}, false
	}
	return g.choices[i], true
}

// best is the path of the highest priority; empty if there is none.
func (g group) best() string {
	best := choice{}
	for _, c := range g.choices {
		if best.path == "" || c.priority > best.priority {
			best = c
		}
	}
	return best.path
}

// databases are the folders in which programs store alternatives: first dpkg's folder, then the folder of Red Hat and
// SUSE.
var databases = []string{"/var/lib/dpkg/alternatives", "/var/lib/alternatives"}

// database is the folder of the program of this host.
func database(files modules.FileReader) (string, error) {
	for _, dir := range databases {
		_, err := modules.Follow(files, dir)
		if err == nil {
			return dir, nil
		}
		if !modules.NotThere(err) {
			return "", modules.PermissionRefusal(err)
		}
	}
	return "", modules.Refuse("this host keeps no alternatives: neither %s is there", strings.Join(databases, " nor "))
}

// look returns the host's state of the name, or the predicted one.
func (a *Alternatives) look(h modules.Host) (group, error) {
	if state, ok := h.Forecast.Lookup(effect, a.Name); ok {
		return state.(group), nil
	}
	dir, err := database(h.Files)
	if err != nil {
		return group{}, err
	}
	file, err := h.Files.Open(path.Join(dir, a.Name))
	switch {
	case modules.NotThere(err):
		return group{}, nil
	case err != nil:
		return group{}, modules.PermissionRefusal(err)
	}
	defer file.Close()
	g, err := parse(file)
	if err != nil {
		return group{}, modules.Refuse("%s cannot be read: %w", path.Join(dir, a.Name), err)
	}
	// The program forgets missing alternatives as soon as it is called.
	g.choices = slices.DeleteFunc(g.choices, func(c choice) bool {
		_, err := modules.Follow(h.Files, c.path)
		return modules.NotThere(err)
	})
	at, err := h.Files.Stat(a.chosen())
	if err != nil && !modules.NotThere(err) {
		return group{}, modules.PermissionRefusal(err)
	}
	g.selected = at.Target
	return g, nil
}

// chosen is the link to the current alternative of the name.
func (a *Alternatives) chosen() string { return "/etc/alternatives/" + a.Name }

// maxFile bounds a file of the program, in bytes.
const maxFile = 1 << 20

// parse reads the program's file about a name: the mode, the link, name and link of each slave, an empty line; then for
// each alternative its path, its priority, and a line for each slave. The file of Red Hat may have a family before the
// priority, @java@1800, and the name of a service after it.
func parse(file io.Reader) (group, error) {
	var lines []string
	scanner := bufio.NewScanner(io.LimitReader(file, maxFile))
	for scanner.Scan() {
		lines = append(lines, scanner.Text())
	}
	if err := scanner.Err(); err != nil {
		return group{}, err
	}
	end := slices.Index(lines, "")
	if end < 2 || lines[0] != "auto" && lines[0] != "manual" {
		return group{}, modules.Refuse("it does not begin with a mode and a link")
	}
	g := group{manual: lines[0] == "manual", link: lines[1]}
	for names := lines[2:end]; len(names) >= 2; names = names[2:] {
		g.slaves = append(g.slaves, slave{Name: names[0], Link: names[1]})
	}
	size := 2 + len(g.slaves)
	for rest := lines[end+1:]; len(rest) >= size && rest[0] != ""; rest = rest[size:] {
		text := rest[1]
		if family, after, ok := strings.Cut(strings.TrimPrefix(text, "@"), "@"); ok && family != "" {
			text = after
		}
		number, _, _ := strings.Cut(text, " ")
		priority, err := strconv.Atoi(number)
		if err != nil {
			return group{}, modules.Refuse("the priority of %s is not a number", rest[0])
		}
		c := choice{path: rest[0], priority: priority}
		for i, s := range g.slaves {
			if s.Path = rest[2+i]; s.Path != "" {
				c.slaves = append(c.slaves, s)
			}
		}
		g.choices = append(g.choices, c)
	}
	return g, nil
}

// chosenSlaves returns the targets of the further links of the current alternative, by name.
func (g group) chosenSlaves() map[string]string {
	targets := map[string]string{}
	if c, ok := g.find(g.selected); ok {
		for _, s := range c.slaves {
			targets[s.Name] = s.Path
		}
	}
	return targets
}

// A call is one call of the program: its option, and the arguments after it.
type call []string

// after is the group when a call is done.
func (g group) after(c call) group {
	g.choices = slices.Clone(g.choices)
	switch c[0] {
	case "--install":
		priority, _ := strconv.Atoi(c[4])
		g.link = c[1]
		if i := slices.IndexFunc(g.choices, func(have choice) bool { return have.path == c[3] }); i >= 0 {
			g.choices[i].priority = priority
		} else {
			g.choices = append(g.choices, choice{path: c[3], priority: priority})
		}
	case "--set":
		g.manual, g.selected = true, c[2]
		return g
	case "--auto":
		g.manual = false
	case "--remove":
		g.choices = slices.DeleteFunc(g.choices, func(have choice) bool { return have.path == c[2] })
		if len(g.choices) == 0 {
			return group{}
		}
		g.manual = g.manual && g.selected != c[2]
	}
	if !g.manual {
		g.selected = g.best()
	}
	return g
}
