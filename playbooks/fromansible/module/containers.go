package module

import (
	"regexp"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// containerStates are the words of docker and podman.
var containerStates = map[string]string{"started": "running", "present": "present", "stopped": "stopped", "absent": "absent"}

// containerTask is a container of one of the programs.
func containerTask(program string) func(*task.Task) {
	return func(t *task.Task) {
		if t.Arg("name") == nil {
			t.Problem("%s without name", t.Module)
			return
		}
		e := &layout.Entry{Type: "container", Name: t.Text(t.Arg("name"))}
		ensure := t.OneOf(t.Arg("state"), containerStates)
		if ensure != "" && ensure != "running" {
			e.SetText("ensure", ensure)
		}
		e.SetText("provider", program)
		if ensure == "absent" {
			t.Write(e)
			return
		}
		if detach, ok := yamlnode.BoolOf(t.Arg("detach")); t.Arg("detach") != nil && (!ok || !detach) {
			t.Problem("%s with detach: no, which waits until it has ended: an exec of %s run does that", t.Module, program)
		}
		if t.Arg("image") == nil {
			t.Problem("%s without image", t.Module)
			return
		}
		t.Put(e, "image", t.Arg("image"))
		containerPull(t, e)
		containerCommand(t, e)
		textMap(t, e, "env", t.Arg("env"))
		textList(t, e, "ports", t.Arg("ports", "published_ports", "published", "publish"))
		textList(t, e, "volumes", t.Arg("volumes", "volume"))
		containerNetwork(t, e)
		textMap(t, e, "labels", t.Arg("labels", "label"))
		t.Put(e, "restart", containerRestart(t))
		for _, property := range []string{"user", "memory", "cpus"} {
			if n := t.Arg(property); n != nil && n.Value != "0" {
				e.SetText(property, t.Text(n))
			}
		}
		if n := t.Arg("memory"); n != nil && !yamlnode.HasJinja(n) && !memoryShape().MatchString(n.Value) {
			t.Problem("the memory %s: write a number and one of b, k, m and g", n.Value)
		}
		if options := containerOptions(t); len(options) > 0 {
			e.Set("options", yamlnode.Texts(options...))
		}
		t.Write(e)
	}
}

var memoryShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+[bkmgBKMG]?$`) })

// containerPull writes when its image is pulled; docker has a boolean for it, too.
func containerPull(t *task.Task, e *layout.Entry) {
	n := t.Arg("pull")
	switch pull, ok := yamlnode.BoolOf(n); {
	case n == nil, ok && !pull:
	case ok:
		e.SetText("pull", "always")
		t.Note("pull; skopeo asks the registry, which the host has to have")
	default:
		if when := t.OneOf(n, map[string]string{"always": "always", "missing": "missing", "never": "never"}); when != "missing" {
			e.SetText("pull", when)
		}
	}
}

func containerRestart(t *task.Task) *yaml.Node {
	n := t.Arg("restart_policy")
	if n == nil {
		return nil
	}
	if off, ok := yamlnode.BoolOf(n); ok && !off { // no without quotes
		return yamlnode.Text("no")
	}
	t.OneOf(n, map[string]string{"no": "no", "on-failure": "on-failure", "always": "always", "unless-stopped": "unless-stopped"})
	return n
}

// containerCommand writes the command as words.
func containerCommand(t *task.Task, e *layout.Entry) {
	n := t.Arg("command")
	switch {
	case n == nil:
	case n.Kind != yaml.ScalarNode:
		textList(t, e, "command", n)
	case yamlnode.HasJinja(n):
		t.Problem("a command that is a text with expressions: write a list")
	default:
		var words []string
		for _, word := range yamlnode.SplitWords(n.Value) {
			if bare := yamlnode.Unquote(word); strings.ContainsAny(bare, `"'\`) && bare == word {
				t.Problem("a command with quotes within a word: write a list")
			} else {
				words = append(words, bare)
			}
		}
		e.Set("command", yamlnode.Texts(words...))
	}
}

// containerNetwork writes the network, of which there is one.
func containerNetwork(t *task.Task, e *layout.Entry) {
	mode := t.Arg("network_mode", "network", "net")
	var names []*yaml.Node
	if mode != nil && mode.Value != "default" {
		names = yamlnode.Items(mode)
	}
	for _, network := range yamlnode.Items(t.Arg("networks")) {
		name := yamlnode.Get(network, "name")
		if network.Kind != yaml.MappingNode || name == nil || len(network.Content) > 2 {
			t.Problem("a network that is more than a name")
			return
		}
		if len(names) == 0 || names[0].Value != name.Value {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 1:
		t.Put(e, "network", names[0])
	case len(names) > 1:
		t.Problem("several networks: a container has one, and an exec of network connect adds others")
	}
}

// containerFlags are the options that both programs have on their command lines, by the arguments of the modules.
var containerFlags = []struct{ argument, flag, between string }{
	{"privileged", "--privileged", ""}, {"read_only", "--read-only", ""}, {"init", "--init", ""}, {"interactive", "--interactive", ""}, {"tty", "--tty", ""},
	{"hostname", "--hostname", ""}, {"working_dir", "--workdir", ""}, {"workdir", "--workdir", ""}, {"shm_size", "--shm-size", ""}, {"log_driver", "--log-driver", ""}, {"stop_timeout", "--stop-timeout", ""},
	{"stop_signal", "--stop-signal", ""}, {"memory_reservation", "--memory-reservation", ""}, {"memory_swap", "--memory-swap", ""}, {"cpu_shares", "--cpu-shares", ""}, {"cpuset_cpus", "--cpuset-cpus", ""},
	{"pid_mode", "--pid", ""}, {"pid", "--pid", ""}, {"ipc_mode", "--ipc", ""}, {"ipc", "--ipc", ""}, {"cgroups", "--cgroups", ""}, {"userns", "--userns", ""}, {"userns_mode", "--userns", ""}, {"sdnotify", "--sdnotify", ""},
	{"entrypoint", "--entrypoint", ""}, {"capabilities", "--cap-add", ""}, {"cap_add", "--cap-add", ""}, {"cap_drop", "--cap-drop", ""}, {"devices", "--device", ""}, {"device", "--device", ""},
	{"security_opts", "--security-opt", ""}, {"security_opt", "--security-opt", ""}, {"dns_servers", "--dns", ""}, {"dns", "--dns", ""}, {"dns_search_domains", "--dns-search", ""}, {"dns_search", "--dns-search", ""},
	{"groups", "--group-add", ""}, {"group_add", "--group-add", ""}, {"ulimits", "--ulimit", ""}, {"ulimit", "--ulimit", ""}, {"exposed_ports", "--expose", ""}, {"volumes_from", "--volumes-from", ""},
	{"tmpfs", "--tmpfs", ":"}, {"sysctls", "--sysctl", "="}, {"sysctl", "--sysctl", "="}, {"log_options", "--log-opt", "="}, {"log_opt", "--log-opt", "="}, {"etc_hosts", "--add-host", ":"}, {"add_hosts", "--add-host", ":"},
}

// containerOptions are the arguments that options have the place of.
func containerOptions(t *task.Task) (all []string) {
	for _, f := range containerFlags {
		n := t.Arg(f.argument)
		if n == nil {
			continue
		}
		isTrue, isBool := yamlnode.BoolOf(n)
		switch {
		case isBool && isTrue:
			all = append(all, f.flag)
		case isBool:
		case n.Kind == yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				all = append(all, f.flag+"="+strings.TrimSuffix(t.Text(n.Content[i])+f.between+t.Text(n.Content[i+1]), ":"))
			}
		case n.Kind == yaml.ScalarNode && strings.HasPrefix(n.Value, "{{"):
			t.Problem("the argument %s of %s that is an expression: write options", f.argument, t.Module)
		case f.flag == "--entrypoint" && len(yamlnode.Items(n)) != 1:
			t.Problem("an entrypoint of several words: the first one is the entrypoint, and the others stand in command")
		default:
			for _, one := range yamlnode.Items(n) {
				all = append(all, f.flag+"="+t.Text(one))
			}
		}
	}
	return all
}

// textList writes a list whose elements are texts, also where they look like numbers.
func textList(t *task.Task, e *layout.Entry, property string, n *yaml.Node) {
	if n == nil {
		return
	}
	if n.Kind == yaml.ScalarNode && strings.HasPrefix(n.Value, "{{") {
		t.Put(e, property, n)
		return
	}
	var texts []string
	for _, one := range yamlnode.Items(n) {
		texts = append(texts, t.Text(one))
	}
	e.Set(property, yamlnode.Texts(texts...))
}

// textMap writes a map whose values are texts.
func textMap(t *task.Task, e *layout.Entry, property string, n *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		t.Put(e, property, n)
		return
	}
	var pairs []any
	for i := 0; i+1 < len(n.Content); i += 2 {
		if yamlnode.HasJinja(n.Content[i]) {
			t.Problem("a name in %s that is an expression", property)
		}
		pairs = append(pairs, n.Content[i].Value, yamlnode.Text(t.Text(n.Content[i+1])))
	}
	e.Set(property, yamlnode.Map(pairs...))
}

// storeTask makes a network or a volume, or pulls an image, unless there is one of that name.
func storeTask(program, kind string) func(*task.Task) {
	return func(t *task.Task) {
		name := t.Arg("name", "volume_name")
		if name == nil {
			t.Problem("%s without name", t.Module)
			return
		}
		called := t.Text(name)
		if tag := t.Arg("tag"); tag != nil {
			called += ":" + t.Text(tag)
		}
		there := program + " " + kind + " inspect " + called
		e := t.Named("exec", program+" "+kind+" "+name.Value)
		if t.OneOf(t.Arg("state"), presence) == "absent" {
			e.SetText("command", program+" "+kind+" rm "+called)
			e.SetText("onlyif", there)
			t.Write(e)
			return
		}
		verb := kind + " create"
		if kind == "image" {
			if !storePulls(t) {
				return
			}
			verb = "pull"
		}
		if n := t.Arg("driver"); n != nil {
			verb += " --driver=" + t.Text(n)
		}
		if internal, ok := yamlnode.BoolOf(t.Arg("internal")); ok && internal {
			verb += " --internal"
		}
		e.SetText("command", program+" "+verb+" "+called)
		e.SetText("unless", there)
		t.Write(e)
	}
}

// storePulls reports whether the image is one to pull that the host does not have, as docker_image has it unless it
// says otherwise, and docker_image_pull if it does.
func storePulls(t *task.Task) bool {
	pull, source := t.Arg("pull"), t.Arg("source")
	switch {
	case t.Module == "docker_image" && (source == nil || source.Value != "pull"):
		t.Problem("docker_image without source: pull: images are built and loaded elsewhere")
		return false
	case t.Module == "docker_image_pull" && (pull == nil || pull.Value != "not_present"):
		t.Problem("docker_image_pull in each run: a container with pull: always asks the registry")
		return false
	case t.Module == "podman_image" && pull != nil:
		if wanted, ok := yamlnode.BoolOf(pull); !ok || !wanted {
			t.Problem("podman_image with pull: no")
			return false
		}
	}
	return true
}
