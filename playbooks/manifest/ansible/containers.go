package ansible

import "maps"

// containerModules returns the modules of docker and podman. Options that have the same name on their command lines go
// into the property options.
func containerModules() map[string]Module {
	docker := Arguments{
		"ports": same("ports"), "published_ports": same("ports"), "networks": same("network"), "network_mode": same("network"), "pull": same("pull"),
		"capabilities": same("options"), "dns_servers": same("options"), "dns_search_domains": same("options"), "etc_hosts": same("options"), "pid_mode": same("options"), "ipc_mode": same("options"),
		"groups": same("options"), "log_options": same("options"), "cleanup": no("a container in its desired state is kept"), "auto_remove": no("stopped containers are kept"), "healthcheck": no("write options: [--health-cmd=…]"),
		"comparisons": none("all properties of the container are compared"), "container_default_behavior": none("docker's defaults apply"), "image_name_mismatch": none("a different image recreates the container"),
		"image_comparison": none("a different image recreates the container"), "image_label_mismatch": none("only the given labels are set"), "networks_cli_compatible": none("only the given networks are connected"),
		"default_host_ip": no("write it before the port"), "restart_retries": no("write options: [--restart=on-failure:3] in place of restart"), "paused": no("a container runs or is stopped"),
		"purge_networks": none("a recreated container has no other networks"), "keep_volumes": none("anonymous volumes stay"), "docker_host": no("the docker daemon of the host is used"), "removal_wait_timeout": none("the run always waits for the removal"),
		"output_logs": no("exec of docker logs prints them"), "force_kill": none("a container is removed at once before it is recreated"), "kill_signal": no("write options: [--stop-signal=…]"),
	}
	podman := Arguments{
		"ports": same("ports"), "published": same("ports"), "published_ports": same("ports"), "publish": same("ports"), "volume": same("volumes"), "network": same("network"), "net": same("network"), "network_mode": same("network"),
		"label": same("labels"), "cap_add": same("options"), "capabilities": same("options"), "device": same("options"), "dns": same("options"), "dns_servers": same("options"), "dns_search": same("options"),
		"pid": same("options"), "pid_mode": same("options"), "ipc": same("options"), "group_add": same("options"), "groups": same("options"), "log_opt": same("options"), "add_hosts": same("options"), "etc_hosts": same("options"), "sysctl": same("options"),
		"ulimit": same("options"), "workdir": same("options"), "security_opt": same("options"), "cgroups": same("options"), "userns": same("options"), "userns_mode": same("options"), "sdnotify": same("options"), "stop_signal": same("options"),
		"executable": none("podman is found in PATH"), "rm": no("stopped containers are kept"), "healthcheck": no("write options: [--health-cmd=…]"), "generate_systemd": no("write provider: quadlet"),
		"quadlet_dir": no("write provider: quadlet"), "quadlet_filename": no("write provider: quadlet"), "quadlet_options": no("write provider: quadlet"), "image_strict": none("a different image recreates the container"),
		"pod": no("pods are not supported"), "secrets": no("use env: its values are passed by standard input and never printed"), "mount": no("write volumes"),
	}
	shared := Arguments{
		"name": same("name"), "state": same("ensure"), "image": same("image"), "command": same("command"), "env": same("env"), "volumes": same("volumes"), "labels": same("labels"), "restart_policy": same("restart"), "user": same("user"),
		"memory": same("memory"), "cpus": same("cpus"), "detach": same("ensure"),
		"privileged": same("options"), "hostname": same("options"), "read_only": same("options"), "cap_drop": same("options"), "devices": same("options"), "sysctls": same("options"), "ulimits": same("options"), "working_dir": same("options"),
		"security_opts": same("options"), "tmpfs": same("options"), "init": same("options"), "shm_size": same("options"), "log_driver": same("options"), "interactive": same("options"), "tty": same("options"), "entrypoint": same("options"),
		"stop_timeout": same("options"), "memory_reservation": same("options"), "memory_swap": same("options"), "cpu_shares": same("options"), "cpuset_cpus": same("options"), "exposed_ports": same("options"), "volumes_from": same("options"),
		"env_file": no("write the variables in env"), "mounts": no("write volumes"), "links": no("containers of one network find each other by name"), "recreate": no("the container is recreated when its properties differ"),
		"restart": no("an exec with refreshonly does that"), "force_restart": no("an exec with refreshonly does that"), "debug": none("use --verbose"),
	}
	container := func(program string, own Arguments) Module {
		args := maps.Clone(own)
		maps.Copy(args, shared)
		return Module{
			Type:  "container",
			Write: `- container: [shop: {provider: ` + program + `, image: "registry.example.net/shop:1.4", ports: ["8080:80"]}]`,
			AdHoc: `container shop provider=` + program + ` image=registry.example.net/shop:1.4`,
			Args:  args,
			Gap:   "a container that ccm-push did not create is refused; `force: true` replaces it",
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
		network.Gap = "an existing one is not changed, even if its options differ"
		volume := guarded("volume", "volume create", "data")
		volume.Args = Arguments{"name": same("name"), "volume_name": same("name"), "state": same("command"), "driver": same("command")}
		volume.Gap = network.Gap
		image := guarded("image", "pull", "registry.example.net/shop:1.4")
		image.Args = Arguments{
			"name": same("name"), "tag": same("name"), "state": same("command"), "source": same("command"), "force_source": no("write pull: always at the container"), "force": no("write pull: always at the container"), "force_absent": no("an image that is in use stays"),
			"force_tag": no("an image keeps its name"), "build": no("images are built elsewhere"), "path": no("images are built elsewhere"), "repository": no("an image keeps its name"), "push": no("nothing is pushed"),
			"load_path": no("an exec of " + program + " load"), "archive_path": no("an exec of " + program + " save"), "pull": same("command"), "timeout": none("a pull may take its time"),
		}
		image.Gap = "a container pulls its image by itself"
		all[program+"_network"], all[program+"_volume"], all[program+"_image"] = network, volume, image
		all[program+"_login"] = Module{Write: "write the credentials file with a file resource and sensitive: true", AdHoc: "use the type exec: ccm-push PATTERN exec " + program + " login"}
	}
	const compose = "write each service as a container resource and each network and volume as an exec; or write the compose file with a file resource, and let an exec of docker compose up --detach subscribe to it"
	all["docker_image_pull"] = Module{
		Type: "exec", Write: all["docker_image"].Write, AdHoc: all["docker_image"].AdHoc,
		Args: Arguments{"name": same("name"), "tag": same("name"), "pull": same("command"), "platform": no("the platform of the host is used")},
		Gap:  "only `pull: not_present`; a container with `pull: always` queries the registry in each run",
	}
	all["docker_compose"], all["docker_compose_v2"] = Module{Write: compose, AdHoc: "use the type exec: ccm-push PATTERN exec docker compose up --detach"}, Module{Write: compose, AdHoc: "use the type exec: ccm-push PATTERN exec docker compose up --detach"}
	all["docker_image_build"] = Module{Write: "images are built elsewhere, and pulled by their digest", AdHoc: "use the type exec: ccm-push PATTERN exec docker build"}
	return all
}
