// The JDK's own HTTP client as an MCP client: initialize, notifications/initialized, tools/list and
// tools/call. Prints a status for each; ends with 1 where a response lacks what it has to have.
//
//     java JdkClient.java URL TOKEN

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;

public class JdkClient {
    private static final String REVISION = "2025-06-18";
    private static final String INITIALIZE = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","
        + "\"params\":{\"protocolVersion\":\"" + REVISION + "\",\"capabilities\":{},"
        + "\"clientInfo\":{\"name\":\"jdk\",\"version\":\"1\"}}}";
    private static final String INITIALIZED = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";
    private static final String LIST = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}";
    private static final String CALL = "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\","
        + "\"params\":{\"name\":\"echo\",\"arguments\":{\"value\":\"from java\"}}}";

    private final HttpClient client = HttpClient.newHttpClient();
    private final URI address;
    private final String token;
    private String session = "";

    private JdkClient(String address, String token) {
        this.address = URI.create(address);
        this.token = token;
    }

    public static void main(String[] arguments) throws Exception {
        JdkClient client = new JdkClient(arguments[0], arguments[1]);
        client.send("initialize", INITIALIZE, "\"serverInfo\"");
        client.send("initialized", INITIALIZED, "");
        client.send("list", LIST, "\"echo\"");
        client.send("call", CALL, "from java");
    }

    private void send(String name, String body, String expected) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(address)
            .header("Authorization", "Bearer " + token)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", REVISION)
            .POST(HttpRequest.BodyPublishers.ofString(body));
        if (!session.isEmpty()) {
            request.header("Mcp-Session-Id", session);
        }
        HttpResponse<String> response = client.send(request.build(), BodyHandlers.ofString());
        session = response.headers().firstValue("Mcp-Session-Id").orElse(session);
        System.out.println(response.statusCode() + " " + name);
        if (!response.body().contains(expected)) {
            System.err.println(response.body());
            System.exit(1);
        }
    }
}
