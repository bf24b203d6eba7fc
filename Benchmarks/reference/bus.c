/* The reference for the bus: PUB and SUB of libzmq, CURVE, ipc, three frames a message, a thread and a context for each side.
 * bus-reference ENDPOINT MESSAGES PAYLOAD-BYTES HEADER-BYTES: prints messages per second. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

static const char *endpoint;
static long messages;
static size_t payload_bytes, header_bytes;
static char server_public[41], server_secret[41], client_public[41], client_secret[41];
static const char stream[] = "ingest.samples.00";

static void need(int is_so, const char *what) {
    if (is_so) return;
    fprintf(stderr, "%s: %s\n", what, zmq_strerror(zmq_errno()));
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void *publish(void *unused) {
    (void)unused;
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_XPUB);
    int on = 1, water = 100000;
    zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &on, sizeof on);
    zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, server_secret, 40);
    /* Blocks where ours counts what is in flight. */
    zmq_setsockopt(socket, ZMQ_XPUB_NODROP, &on, sizeof on);
    zmq_setsockopt(socket, ZMQ_SNDHWM, &water, sizeof water);
    need(zmq_bind(socket, endpoint) == 0, "bind");
    char subscription[64];
    need(zmq_recv(socket, subscription, sizeof subscription, 0) > 0, "subscription");
    char *header = malloc(header_bytes), *payload = malloc(payload_bytes);
    memset(header, 'h', header_bytes);
    memset(payload, 'x', payload_bytes);
    for (long number = 0; number < messages; number++) {
        need(zmq_send(socket, stream, sizeof stream - 1, ZMQ_SNDMORE) >= 0, "send");
        need(zmq_send(socket, header, header_bytes, ZMQ_SNDMORE) >= 0, "send");
        need(zmq_send(socket, payload, payload_bytes, 0) >= 0, "send");
    }
    zmq_close(socket);
    zmq_ctx_term(context);
    return NULL;
}

int main(int count, char **words) {
    if (count != 5) return 2;
    endpoint = words[1];
    messages = atol(words[2]);
    payload_bytes = atol(words[3]);
    header_bytes = atol(words[4]);
    need(zmq_curve_keypair(server_public, server_secret) == 0, "keys");
    need(zmq_curve_keypair(client_public, client_secret) == 0, "keys");
    pthread_t publisher;
    need(pthread_create(&publisher, NULL, publish, NULL) == 0, "thread");
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_SUB);
    int water = 100000;
    zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server_public, 40);
    zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, client_public, 40);
    zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, client_secret, 40);
    zmq_setsockopt(socket, ZMQ_RCVHWM, &water, sizeof water);
    zmq_setsockopt(socket, ZMQ_SUBSCRIBE, stream, sizeof stream - 1);
    need(zmq_connect(socket, endpoint) == 0, "connect");
    double begun = 0;
    for (long number = 0; number < messages; number++) {
        int more = 1;
        while (more) {
            zmq_msg_t part;
            zmq_msg_init(&part);
            need(zmq_msg_recv(&part, socket, 0) >= 0, "receive");
            more = zmq_msg_more(&part);
            zmq_msg_close(&part);
        }
        if (number == 0) begun = now();
    }
    printf("%.0f\n", (messages - 1) / (now() - begun));
    pthread_join(publisher, NULL);
    zmq_close(socket);
    zmq_ctx_term(context);
    return 0;
}
