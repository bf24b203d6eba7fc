// The edge's Caddyfile. `deploy/Caddyfile` is the same text, for containers; a test keeps them equal.

enum EdgeConfiguration {
    /// One origin with TLS by Caddy's own authority; routes by prefix without rewriting; nothing else is reachable. Addresses come
    /// from the environment, so that one text serves one machine and containers.
    static let caddyfile = #"""
        # The edge: one origin and TLS for all services. Kept equal to EdgeConfiguration.swift by a test.
        {
        	admin off
        	skip_install_trust
        	log {
        		level ERROR
        	}
        	http_port {$TRACKME_EDGE_HTTP_PORT:8080}
        	https_port {$TRACKME_EDGE_HTTPS_PORT:8443}
        	# Loopback unless told otherwise: whoever opens it to the world decides so.
        	default_bind {$TRACKME_EDGE_BIND:127.0.0.1}
        	auto_https disable_redirects
        	default_sni localhost
        	storage file_system {$TRACKME_EDGE_STORAGE:/data/caddy}
        	servers {
        		# Of HTTP/2 this release bounds neither resets nor headers (CVE-2023-44487, CVE-2023-45288), nor the time of a body.
        		protocols h1
        		timeouts {
        			read_header 10s
        			idle 75s
        		}
        		max_header_size 16KB
        	}
        }

        (headers) {
        	header {
        		Strict-Transport-Security "max-age=31536000; includeSubDomains"
        		X-Content-Type-Options nosniff
        		-Server
        	}
        }

        (body) {
        	request_body {
        		max_size {args.0}
        	}
        }

        (onward) {
        	# Services believe X-Forwarded-For where this stands beside it. What a caller wrote in either is replaced.
        	header_up TrackMe-Edge {$TRACKME_EDGE_SECRET:none}
        	flush_interval -1
        }

        (sos) {
        	reverse_proxy {$TRACKME_EDGE_SOS:127.0.0.1:8102} {$TRACKME_EDGE_SOS_DEPUTY:127.0.0.1:8112} {
        		import onward
        		lb_policy first
        		lb_try_duration 2s
        		lb_try_interval 50ms
        		fail_duration 1s
        		health_uri /health/live
        		health_interval 500ms
        		health_timeout 400ms
        		transport http {
        			dial_timeout 400ms
        			response_header_timeout {args.0}
        		}
        	}
        }

        # Nothing is taken or given without TLS. Whoever only looks is shown the suite's own address, never one that the caller named; whoever
        # sends something or shows a token has let it be read on the way, and is told so rather than led on.
        http:// {
        	@looks {
        		method GET HEAD
        		not header Authorization *
        		not header Cookie *
        	}
        	redir @looks {$TRACKME_EDGE_ORIGIN:https://localhost:8443}{uri} 308
        	header Content-Type application/problem+json
        	respond `{"type":"urn:trackme:problem:https-required","title":"Only HTTPS is spoken here; make a new token or password if one was sent","status":403}` 403
        }

        # Whoever asks for a host that is not served here.
        https:// {
        	tls internal
        	import headers
        	header Content-Type application/problem+json
        	respond `{"type":"urn:trackme:problem:misdirected-request","title":"No such host is served here","status":421}` 421
        }

        {$TRACKME_EDGE_SITES:https://localhost https://127.0.0.1} {
        	tls internal
        	import headers
        	# Health and metrics are for the machine itself.
        	@ingest path /ingest/*
        	handle @ingest {
        		import body 64MB
        		reverse_proxy {$TRACKME_EDGE_INGEST:127.0.0.1:8101} {
        			import onward
        		}
        	}
        	# Two dispatchers: the second answers while the first does not. Whoever answers in an emergency waits 2 s at most for a halted one.
        	@answers {
        		method POST
        		path /sos/v1/prompt/* /sos/c/*
        	}
        	handle @answers {
        		import body 4MB
        		import sos 2s
        	}
        	@sos path /sos/*
        	handle @sos {
        		import body 4MB
        		import sos 5s
        	}
        	@consent path /consent/*
        	handle @consent {
        		import body 4MB
        		reverse_proxy {$TRACKME_EDGE_CONSENT:127.0.0.1:8103} {
        			import onward
        		}
        	}
        	@notify path /notify/*
        	handle @notify {
        		import body 4MB
        		reverse_proxy {$TRACKME_EDGE_NOTIFIER:127.0.0.1:8104} {
        			import onward
        		}
        	}
        	@thirdparty path /thirdparty/*
        	handle @thirdparty {
        		import body 4MB
        		reverse_proxy {$TRACKME_EDGE_THIRDPARTY:127.0.0.1:8105} {
        			import onward
        		}
        	}
        	handle {
        		header Content-Type application/problem+json
        		respond `{"type":"urn:trackme:problem:not-found","title":"Nothing is here","status":404}` 404
        	}
        	handle_errors {
        		import headers
        		header Content-Type application/problem+json
        		# One of two dispatchers was halted or killed as somebody pressed a button: the browser presses it once more, and the other one takes
        		# it. This release sends no body twice by itself. Programs try again by themselves: many send no token to where they are led.
        		@again {
        			method POST
        			path /sos/v1/prompt/page/* /sos/c/*
        			not query again=*
        			expression `{http.error.status_code} >= 502`
        		}
        		handle @again {
        			redir {path}?{query}&again=1 307
        		}
        		@malformed expression `{http.error.message}.contains("chunk")`
        		handle @malformed {
        			respond `{"type":"urn:trackme:problem:malformed-request","title":"That is no request of HTTP/1.1","status":400}` 400
        		}
        		@large expression `{http.error.message}.contains("request body too large")`
        		handle @large {
        			respond `{"type":"urn:trackme:problem:body-too-large","title":"The body is too large","status":413}` 413
        		}
        		handle {
        			header Retry-After 1
        			respond `{"type":"urn:trackme:problem:unavailable","title":"The service does not answer","status":503,"detail":"It does not answer at the moment, and whether this attempt was stored is not certain. Send the same request again, at once or in a few seconds, with the same Idempotency-Key; a device sends the same entries. Both are safe to repeat."}` 503
        		}
        	}
        }

        """#
}
