package ansible

import "maps"

// containerModules are those of docker and podman. Options that their command lines call alike stand in the property
// options.
func containerModules() map[string]Module {
	docker := Arguments{
		"ports": same("ports"), "published_ports": same("ports"), "networks": same("network"), "network_mode": same("network"), "pull": same("pull"),
		"capabilities": same("options"), "dns_servers": same("options"), "dns_search_domains": same("options"), "etc_hosts": same("options"), "pid_mode": same("options"), "ipc_mode": same("options"),
		"groups": same("options"), "log_options": same("options"), "cleanup": no("one that is as it shall be stays"), "auto_remove": no("a container is kept"), "healthcheck": no("write options: [--health-cmd=…]"),
		"comparisons": none("all that it was made of is compared"), "container_default_behavior": none("what is not given is left to docker"), "image_name_mismatch": none("another image has it made anew"),
		"image_comparison": none("another image has it made anew"), "image_label_mismatch": none("labels are those that are given"), "networks_cli_compatible": none("networks are those of the command line"),
		"default_host_ip": no("write it before the port"), "restart_retries": no("write options: [--restart=on-failure:3] in place of restart"), "paused": no("a container runs or is stopped"),
		"purge_networks": none("a container that is made anew has no other networks"), "keep_volumes": none("anonymous volumes stay"), "docker_host": no("the docker of the host is asked"), "removal_wait_timeout": none("its removal is waited for"),
		"output_logs": no("exec of docker logs prints them"), "force_kill": none("one that is made anew is removed at once"), "kill_signal": no("write options: [--stop-signal=…]"),
	}
	podman := Arguments{
		"ports": same("ports"), "published": same("ports"), "published_ports": same("ports"), "publish": same("ports"), "volume": same("volumes"), "network": same("network"), "net": same("network"), "network_mode": same("network"),
		"label": same("labels"), "cap_add": same("options"), "capabilities": same("options"), "device": same("options"), "dns": same("options"), "dns_servers": same("options"), "dns_search": same("options"),
		"pid": same("options"), "pid_mode": same("options"), "ipc": same("options"), "group_add": same("options"), "groups": same("options"), "log_opt": same("options"), "add_hosts": same("options"), "etc_hosts": same("options"), "sysctl": same("options"),
		"ulimit": same("options"), "workdir": same("options"), "security_opt": same("options"), "cgroups": same("options"), "userns": same("options"), "userns_mode": same("options"), "sdnotify": same("options"), "stop_signal": same("options"),
		"executable": none("podman is looked for where programs are"), "rm": no("a container is kept"), "healthcheck": no("write options: [--health-cmd=…]"), "generate_systemd": no("write provider: quadlet"),
		"quadlet_dir": no("write provider: quadlet"), "quadlet_filename": no("write provider: quadlet"), "quadlet_options": no("write provider: quadlet"), "image_strict": none("another image has it made anew"),
		"pod": no("a container is one by itself"), "secrets": no("env is read from standard input, and shown to nobody"), "mount": no("write volumes"),
	}
	shared := Arguments{
		"name": same("name"), "state": same("ensure"), "image": same("image"), "command": same("command"), "env": same("env"), "volumes": same("volumes"), "labels": same("labels"), "restart_policy": same("restart"), "user": same("user"),
		"memory": same("memory"), "cpus": same("cpus"), "detach": same("ensure"),
		"privileged": same("options"), "hostname": same("options"), "read_only": same("options"), "cap_drop": same("options"), "devices": same("options"), "sysctls": same("options"), "ulimits": same("options"), "working_dir": same("options"),
		"security_opts": same("options"), "tmpfs": same("options"), "init": same("options"), "shm_size": same("options"), "log_driver": same("options"), "interactive": same("options"), "tty": same("options"), "entrypoint": same("options"),
		"stop_timeout": same("options"), "memory_reservation": same("options"), "memory_swap": same("options"), "cpu_shares": same("options"), "cpuset_cpus": same("options"), "exposed_ports": same("options"), "volumes_from": same("options"),
		"env_file": no("variables stand in env"), "mounts": no("write volumes"), "links": no("containers of one network find each other by name"), "recreate": no("it is made anew when it is not made of what it shall be"),
		"restart": no("an exec with refreshonly does that"), "force_restart": no("an exec with refreshonly does that"), "debug": none("--verbose says more"),
	}
	container := func(program string, own Arguments) Module {
		args := maps.Clone(own)
		maps.Copy(args, shared)
		return Module{
			Type:  "container",
			Write: `- container: [shop: {provider: ` + program + `, image: "registry.example.net/shop:1.4", ports: ["8080:80"]}]`,
			AdHoc: `container shop provider=` + program + ` image=registry.example.net/shop:1.4`,
			Args:  args,
			Gap:   "one that something else has made is refused, unless `force: true` has it replaced",
		}
	}
	all := map[string]Module{"docker_container": container("docker", docker), "podman_container": container("podman", podman)}
	for _, program := range []string{"docker", "podman"} {
		guarded := func(what, verb, name string) Module {
			return Module{
				Type:  "exec",
				Write: "- exec: [" + what + " " + name + ": {command: " + program + " " + verb + " " + name + ", unless: " + program + " " + what + " inspect " + name + "}]",
				AdHoc: `exec "` + program + " " + verb + " " + name + `"`,
			}
		}
		network := guarded("network", "network create", "front")
		network.Args = Arguments{"name": same("name"), "state": same("command"), "driver": same("command"), "internal": same("command")}
		network.Gap = "one that is there stays as it is, whatever it was made of"
		volume := guarded("volume", "volume create", "data")
		volume.Args = Arguments{"name": same("name"), "volume_name": same("name"), "state": same("command"), "driver": same("command")}
		volume.Gap = network.Gap
		image := guarded("image", "pull", "registry.example.net/shop:1.4")
		image.Args = Arguments{
			"name": same("name"), "tag": same("name"), "state": same("command"), "source": same("command"), "force_source": no("container has pull: always"), "force": no("container has pull: always"), "force_absent": no("an image that is in use stays"),
			"force_tag": no("an image keeps its name"), "build": no("images are built elsewhere"), "path": no("images are built elsewhere"), "repository": no("an image keeps its name"), "push": no("nothing is pushed"),
			"load_path": no("an exec of " + program + " load"), "archive_path": no("an exec of " + program + " save"), "pull": same("command"), "timeout": none("a pull may take its time"),
		}
		image.Gap = "a container pulls its image by itself"
		all[program+"_network"], all[program+"_volume"], all[program+"_image"] = network, volume, image
		all[program+"_login"] = Module{Write: "put the file with the credentials there by a file resource, with sensitive: true", AdHoc: "there is exec: ccm-push PATTERN exec " + program + " login"}
	}
	const compose = "each service of the file is a container resource, each network and each volume an exec; or put the file there, and have an exec of docker compose up --detach subscribe to it"
	all["docker_image_pull"] = Module{
		Type: "exec", Write: all["docker_image"].Write, AdHoc: all["docker_image"].AdHoc,
		Args: Arguments{"name": same("name"), "tag": same("name"), "pull": same("command"), "platform": no("it is that of the host")},
		Gap:  "only `pull: not_present`; a container with `pull: always` asks the registry in each run",
	}
	all["docker_compose"], all["docker_compose_v2"] = Module{Write: compose, AdHoc: "there is exec: ccm-push PATTERN exec docker compose up --detach"}, Module{Write: compose, AdHoc: "there is exec: ccm-push PATTERN exec docker compose up --detach"}
	all["docker_image_build"] = Module{Write: "images are built elsewhere, and pulled by their digest", AdHoc: "there is exec: ccm-push PATTERN exec docker build"}
	return all
}
