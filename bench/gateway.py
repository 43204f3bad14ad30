#!/usr/bin/env python3
"""berth gateway beside HAProxy and nginx, on the same core in one run.   gateway.py BERTH PEER [SECONDS [ROUNDS]]

Each proxy has one worker on processor 0; the load and the model server (bench/gateway_peer.c) have the others. A proxy is
measured by the processor time that it takes: requests for each second of it, which is what one core could pass on, so that other
work on the machine counts little. The proxies take turns for some rounds; of each figure the median of the rounds is shown, with
the least and the most of requests for each second of processor time. `direct` is the load without a proxy: what the two ends add
to each latency. A proxy that is not installed is left out; scripts/setup bench installs both.
"""
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

BERTH, PEER = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 3
ROUNDS = int(sys.argv[4]) if len(sys.argv) > 4 else 3
DIR = tempfile.mkdtemp(prefix="bench-gateway-")
OTHERS = ",".join(str(i) for i in range(1, os.cpu_count())) or "0"
STREAMS = 4000


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def write(name, text):
    path = os.path.join(DIR, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def haproxy(port, server):
    return ["haproxy", "-db", "-f", write("haproxy.cfg", f"""
global
  nbthread 1
  maxconn 9000
defaults
  mode http
  timeout connect 5s
  timeout client 600s
  timeout server 600s
  option http-keep-alive
  http-reuse always
frontend f
  bind 127.0.0.1:{port}
  default_backend b
backend b
  server s 127.0.0.1:{server}
""")]


def nginx(port, server):
    return ["nginx", "-p", DIR, "-e", "stderr", "-c", write("nginx.conf", f"""
daemon off; master_process off; pid {DIR}/nginx.pid; worker_processes 1; error_log stderr crit;
events {{ worker_connections 19000; }}
http {{
  access_log off; keepalive_requests 100000000; proxy_buffering off; proxy_http_version 1.1;
  client_body_temp_path {DIR}/b; proxy_temp_path {DIR}/p; fastcgi_temp_path {DIR}/f; uwsgi_temp_path {DIR}/u; scgi_temp_path {DIR}/s;
  upstream up {{ server 127.0.0.1:{server}; keepalive 512; keepalive_requests 100000000; }}
  server {{ listen 127.0.0.1:{port} backlog=4096;
    location / {{ proxy_pass http://up; proxy_set_header Connection ""; proxy_read_timeout 600s; }} }}
}}
""")]


def berth(port, server):
    routes = [{"name": "m", "limits": {"requests": 1000000000, "tokens": 1000000000},
               "timeouts": {"idle": "10m"}, "backends": [{"endpoints": [{"address": f"127.0.0.1:{server}"}]}]}]
    return [BERTH, "gateway", "--workers", "1", "--listen", f"127.0.0.1:{port}", "--connections", "30000",
            "--routes", write("routes.yaml", json.dumps({"models": routes}).replace("1000000000", "999999999"))]


class Process:
    def __init__(self, command, cpus):
        self.p = subprocess.Popen(["taskset", "-c", cpus] + command, stderr=open(os.path.join(DIR, "log"), "ab"))

    def cpu(self):
        with open(f"/proc/{self.p.pid}/stat") as f:
            v = f.read().rsplit(")", 1)[1].split()
        return (int(v[11]) + int(v[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mib(self):
        with open(f"/proc/{self.p.pid}/status") as f:
            return int([x for x in f if x.startswith("VmRSS")][0].split()[1]) / 1024

    def end(self):
        self.p.kill()
        self.p.wait()


def peer(*args):
    out = subprocess.run(["taskset", "-c", OTHERS, PEER, *map(str, args)], capture_output=True, text=True, timeout=300)
    if out.returncode != 0:
        raise SystemExit(f"{args}: {out.stderr}")
    return [float(x) for x in out.stdout.split()]


def wait_port(port):
    for _ in range(500):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.02)
    raise SystemExit("no proxy listens: see " + os.path.join(DIR, "log"))


def idle(proxy, port):
    before = proxy.rss_mib()
    p = subprocess.Popen(["taskset", "-c", OTHERS, PEER, "idle", str(port), str(STREAMS)], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True)
    if p.stdout.readline().strip() != "open":
        return float("nan"), float("nan")
    time.sleep(2)  # what is kept only for a moment is given back
    after = proxy.rss_mib()
    p.stdin.close()
    p.wait()
    return before, after


def main():
    server_port = free_port()
    server = Process([PEER, "serve", str(server_port)], OTHERS)
    wait_port(server_port)
    ports, proxies, rounds = {"direct": server_port}, {}, {}
    print(f"{ROUNDS} rounds, {os.cpu_count()} processors, load average at the beginning {os.getloadavg()[0]:.1f}", flush=True)
    for make in (berth, haproxy, nginx):
        if make is not berth and shutil.which(make.__name__) is None:
            print(f"{make.__name__} is not installed: left out", flush=True)
            continue
        ports[make.__name__] = free_port()
        proxies[make.__name__] = Process(make(ports[make.__name__], server_port), "0")
        wait_port(ports[make.__name__])
    for _ in range(ROUNDS):
        for name, port in ports.items():
            cpu = proxies[name].cpu() if name in proxies else 0
            n, seconds, _, _ = peer("load", port, 64, SECONDS, 0)
            used = (proxies[name].cpu() if name in proxies else 0) - cpu
            _, _, p50, p99 = peer("load", port, 64, SECONDS, 10000)
            cpu = proxies[name].cpu() if name in proxies else 0
            events, took = peer("events", port, 16, 20000)
            used_events = (proxies[name].cpu() if name in proxies else 0) - cpu
            rounds.setdefault(name, []).append({
                "rate": n / seconds, "core": n / used if used else 0, "p50": p50, "p99": p99, "events": events / took,
                "events_core": events / used_events if used_events else 0})
    print(f"{'':8} {'req/s':>9} {'req/s/core':>11} {'least - most':>17} {'p50 us':>8} {'p99 us':>8} {'events/s':>10}"
          f" {'events/s/core':>14} {'MiB':>7} {'MiB, %d idle' % STREAMS:>17}")
    for name, rows in rounds.items():
        mid = {k: statistics.median(r[k] for r in rows) for k in rows[0]}
        least, most = min(r["core"] for r in rows), max(r["core"] for r in rows)
        memory = idle(proxies[name], ports[name]) if name in proxies else (0, 0)
        print(f"{name:8} {mid['rate']:9.0f} {mid['core']:11.0f} {f'{least:.0f} - {most:.0f}':>17} {mid['p50']:8.1f}"
              f" {mid['p99']:8.1f} {mid['events']:10.0f} {mid['events_core']:14.0f} {memory[0]:7.1f} {memory[1]:17.1f}", flush=True)
    for p in list(proxies.values()) + [server]:
        p.end()


main()
